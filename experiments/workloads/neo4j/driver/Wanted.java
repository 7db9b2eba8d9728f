// SPDX-License-Identifier: BSD-3-Clause

import java.util.LinkedHashMap;
import java.util.Map;

/** The options of the command line. */
final class Wanted {
    final String folder;
    final int nodes;
    final int edgesOfNode;
    final int deleted;
    final int paths;
    final int seed;

    Wanted(String[] words) {
        Map<String, String> options = new LinkedHashMap<>();
        for (int at = 0; at < words.length; at += 2) {
            if (!words[at].startsWith("--") || at + 1 == words.length)
                throw new IllegalArgumentException("'" + words[at] + "' is no option with a value");
            options.put(words[at].substring(2), words[at + 1]);
        }
        folder = options.remove("folder");
        if (folder == null)
            throw new IllegalArgumentException("--folder is missing: give a path on the file system under test");
        nodes = number(options, "nodes", 10_000, 2, 100_000_000);
        edgesOfNode = number(options, "edges-of-node", 10, 1, 1000);
        deleted = number(options, "deleted", 31, 1, nodes);
        paths = number(options, "paths", 50, 1, 1_000_000);
        seed = number(options, "seed", 1, 1, 1_000_000_000);
        if (!options.isEmpty())
            throw new IllegalArgumentException("no option --" + options.keySet().iterator().next());
        if ((long)nodes * edgesOfNode > Integer.MAX_VALUE / 2)
            throw new IllegalArgumentException("--nodes and --edges-of-node make too many edges");
    }

    private static int number(Map<String, String> options, String name, int otherwise, int least, int most) {
        String text = options.remove(name);
        try {
            int value = text == null ? otherwise : Integer.parseInt(text);
            if (value >= least && value <= most)
                return value;
        } catch (NumberFormatException error) {
            // The sentence below says it.
        }
        throw new IllegalArgumentException("--" + name + " is '" + text + "': give a number of " + least + " to " +
                                           most);
    }
}
