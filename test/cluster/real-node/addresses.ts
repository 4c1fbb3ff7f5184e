/** Addresses in the network of a node. The network is isolated, so all nodes use the same addresses. */

/** Address of the node, at which the API server, the DNS server and exposed ports of this machine respond. */
export const NODE_ADDRESS = '10.99.0.1';
export const NODE_NAME = 'node';
/** Addresses of pods. */
export const POD_NETWORK = '10.244.0.0/24';
