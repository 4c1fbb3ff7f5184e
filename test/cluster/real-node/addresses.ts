/** Where things are inside the network of a node. It is a network of its own, so every node has the same. */

/** The node itself: the API server, names of Services, and exposed ports of this machine answer here. */
export const NODE_ADDRESS = '10.99.0.1';
export const NODE_NAME = 'node';
/** Pods. */
export const POD_NETWORK = '10.244.0.0/24';
