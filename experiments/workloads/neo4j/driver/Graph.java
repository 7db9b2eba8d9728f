// SPDX-License-Identifier: BSD-3-Clause

import java.util.ArrayList;
import java.util.List;

/**
 * A graph with degrees of a power law: each node has edges to earlier ones. Of four edges one goes to any earlier
 * node, and three to an end of an earlier edge, so that nodes with many edges get more.
 */
final class Graph {
    private static final long MODULUS = 2_147_483_647L;
    private static final int FACTOR = 48_271;

    final int nodes;
    final int[] from;
    final int[] to;
    private long state;

    Graph(Wanted wanted) {
        nodes = wanted.nodes;
        state = wanted.seed;
        int edges = (nodes - 1) * wanted.edgesOfNode;
        from = new int[edges];
        to = new int[edges];
        for (int edge = 0; edge < edges; edge++) {
            int node = edge / wanted.edgesOfNode + 1;
            int first = (node - 1) * wanted.edgesOfNode; // of this node; those before it are of earlier ones
            from[edge] = node;
            if (first == 0 || below(4) == 0) {
                to[edge] = below(node);
            } else {
                int earlier = below(first);
                to[edge] = below(2) == 0 ? from[earlier] : to[earlier];
            }
        }
    }

    /** A number from 0 to below the bound; the same ones for the same seed. */
    int below(int bound) {
        state = state * FACTOR % MODULUS;
        return (int)(state % bound);
    }

    /** So many nodes, each another one. */
    List<Integer> chosen(int count) {
        boolean[] taken = new boolean[nodes];
        List<Integer> found = new ArrayList<>();
        while (found.size() < count) {
            int node = below(nodes);
            if (!taken[node])
                found.add(node);
            taken[node] = true;
        }
        return found;
    }

    /** Of each of these nodes, in their order, the edges that it has. */
    List<List<Integer>> edgesOf(List<Integer> chosen) {
        List<List<Integer>> found = new ArrayList<>();
        int[] place = new int[nodes];
        for (int node : chosen) {
            found.add(new ArrayList<>());
            place[node] = found.size();
        }
        for (int edge = 0; edge < from.length; edge++)
            for (int end : new int[] {from[edge], to[edge]})
                if (place[end] > 0)
                    found.get(place[end] - 1).add(edge);
        return found;
    }

    int otherEnd(int edge, int node) { return from[edge] == node ? to[edge] : from[edge]; }
}
