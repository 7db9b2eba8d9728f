// SPDX-License-Identifier: BSD-3-Clause

import java.io.BufferedReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * PMFS's measurement of Neo4j: nodes are deleted with their edges and inserted again, and shortest paths are searched.
 *
 * <p>The script neo4j starts it. Before each step it says on standard output that it is ready, and waits for a line.
 */
public final class Driver {
    private final Wanted wanted;
    private final Graph graph;
    private final Stored stored;
    private final BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
    private final List<String> rows = new ArrayList<>();

    private Driver(Wanted wanted) {
        this.wanted = wanted;
        graph = new Graph(wanted);
        stored = new Stored(wanted.folder, wanted.nodes);
    }

    public static void main(String[] words) throws IOException {
        try {
            new Driver(new Wanted(words)).run();
        } catch (IllegalArgumentException error) {
            System.err.println("neo4j: " + error.getMessage());
            System.exit(2);
        }
    }

    private void run() throws IOException {
        // As many of each before the measured ones, so that Java has compiled the code of these by then.
        List<Integer> chosen = graph.chosen(Math.min(2 * wanted.deleted, wanted.nodes));
        List<List<Integer>> edges = graph.edgesOf(chosen);
        int[][] pairs = pairs(2 * wanted.paths);
        stored.open();
        stored.load(graph);
        work(chosen, edges, pairs, wanted.deleted, chosen.size(), wanted.paths);
        rows.clear();
        stored.close();
        ready("loaded");
        stored.open();
        ready("open");
        work(chosen, edges, pairs, 0, wanted.deleted, 0);
        ready("measured");
        int found = stored.edges();
        stored.close();
        if (found != graph.from.length)
            throw new IllegalStateException("the database has " + found + " edges and the graph " + graph.from.length);
        report();
    }

    private int[][] pairs(int count) {
        int[][] pairs = new int[count][];
        for (int at = 0; at < count; at++) {
            int one = graph.below(graph.nodes);
            pairs[at] = new int[] {one, (one + 1 + graph.below(graph.nodes - 1)) % graph.nodes};
        }
        return pairs;
    }

    private void work(List<Integer> chosen, List<List<Integer>> edges, int[][] pairs, int first, int end, int pair) {
        measure("delete", end - first, at -> stored.delete(chosen.get(first + at)));
        measure("insert", end - first, at -> stored.insert(graph, chosen.get(first + at), edges.get(first + at)));
        measure("query", wanted.paths, at -> stored.distance(pairs[pair + at][0], pairs[pair + at][1]));
    }

    /** `count`: edges that were deleted or inserted, or that all paths have. `checksum` is of each of these numbers. */
    private void measure(String operation, int calls, IntUnaryOperator call) {
        int[] counts = new int[calls];
        long begin = System.nanoTime();
        for (int at = 0; at < calls; at++)
            counts[at] = call.applyAsInt(at);
        long spent = System.nanoTime() - begin;
        long checksum = 0, total = 0;
        for (int count : counts) {
            checksum = (checksum * 31 + count) % 1_000_000_007L;
            total += count;
        }
        String numbers = "\"calls\": %d, \"count\": %d, \"checksum\": %d, \"mean_us\": %.3f";
        rows.add(String.format("{\"operation\": \"%s\", " + numbers + "}", operation, calls, total, checksum,
                               spent / 1e3 / calls));
    }

    private void ready(String step) throws IOException {
        System.out.println(step);
        System.out.flush();
        if (told.readLine() == null)
            throw new IOException("standard input ended after '" + step + "'");
    }

    private void report() throws IOException {
        String path = System.getenv("TESTBED_RESULT");
        for (String row : rows)
            System.err.println(row);
        if (path == null)
            return;
        try (Writer file = new FileWriter(path, true)) {
            for (String row : rows)
                file.write(row + "\n");
        }
    }
}
