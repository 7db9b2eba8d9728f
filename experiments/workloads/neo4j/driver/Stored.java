// SPDX-License-Identifier: BSD-3-Clause

import java.util.HashMap;
import java.util.Map;
import org.neo4j.graphalgo.GraphAlgoFactory;
import org.neo4j.graphalgo.PathFinder;
import org.neo4j.graphdb.DynamicRelationshipType;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Path;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;
import org.neo4j.graphdb.factory.GraphDatabaseFactory;
import org.neo4j.kernel.Traversal;
import org.neo4j.tooling.GlobalGraphOperations;

/** The graph in a database: its files are mapped, and nothing of them is kept in objects. */
final class Stored {
    private static final RelationshipType EDGE = DynamicRelationshipType.withName("EDGE");
    private static final int EDGES_OF_TRANSACTION = 1000;
    private static final int PATH_MAX = 32;
    private static final long GONE = -1;

    private final String folder;
    private final long[] ids; // the database's, of each of the graph's nodes
    private GraphDatabaseService database;

    Stored(String folder, int nodes) {
        this.folder = folder;
        ids = new long[nodes];
    }

    void open() {
        Map<String, String> settings = new HashMap<>();
        settings.put("cache_type", "none");
        settings.put("use_memory_mapped_buffers", "true");
        for (String store : new String[] {"nodestore", "relationshipstore", "propertystore"})
            settings.put("neostore." + store + ".db.mapped_memory", "64M");
        database = new GraphDatabaseFactory().newEmbeddedDatabaseBuilder(folder).setConfig(settings).newGraphDatabase();
    }

    void close() {
        database.shutdown();
        database = null;
        System.gc(); // this call ends the mappings
    }

    void load(Graph graph) {
        for (int node = 0, edge = 0; node < graph.nodes;) {
            Transaction transaction = database.beginTx();
            for (int end = edge + EDGES_OF_TRANSACTION; node < graph.nodes && edge < end; node++) {
                make(node);
                for (; edge < graph.from.length && graph.from[edge] == node; edge++)
                    connect(node, graph.to[edge]);
            }
            transaction.success();
            transaction.finish();
        }
    }

    /** The node and all its edges, in one transaction; how many edges that were. */
    int delete(int number) {
        int edges = 0;
        Transaction transaction = database.beginTx();
        Node node = node(number);
        for (Relationship edge : node.getRelationships()) {
            edge.delete();
            edges++;
        }
        node.delete();
        transaction.success();
        transaction.finish();
        ids[number] = GONE;
        return edges;
    }

    /** The node, and its edges to nodes that are there, in one transaction; how many edges that were. */
    int insert(Graph graph, int number, Iterable<Integer> edges) {
        int made = 0;
        Transaction transaction = database.beginTx();
        make(number);
        for (int edge : edges) {
            int other = graph.otherEnd(edge, number);
            if (ids[other] == GONE)
                continue; // it comes with the other node
            connect(graph.from[edge] == number ? number : other, graph.from[edge] == number ? other : number);
            made++;
        }
        transaction.success();
        transaction.finish();
        return made;
    }

    /** How many edges the shortest path has. */
    int distance(int one, int other) {
        PathFinder<Path> finder = GraphAlgoFactory.shortestPath(Traversal.expanderForAllTypes(), PATH_MAX);
        Path path = finder.findSinglePath(node(one), node(other));
        if (path == null)
            throw new IllegalStateException("there is no path between nodes " + one + " and " + other);
        return path.length();
    }

    /** All edges, each looked at. */
    int edges() {
        int found = 0;
        for (Relationship edge : GlobalGraphOperations.at(database).getAllRelationships())
            found += edge.isType(EDGE) ? 1 : 0;
        return found;
    }

    private void make(int number) {
        Node node = database.createNode();
        node.setProperty("number", number);
        ids[number] = node.getId();
    }

    private void connect(int from, int to) { node(from).createRelationshipTo(node(to), EDGE); }

    private Node node(int number) { return database.getNodeById(ids[number]); }
}
