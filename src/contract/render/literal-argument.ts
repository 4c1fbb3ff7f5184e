/**
 * An argument of a client of the API as an argument of a pod. Kubernetes expands $(NAME), and clients send arguments that run as they
 * are.
 */
export const literalArgument = (argument: string): string => argument.replaceAll('$', '$$$$');

/** The argument that a client of the API sent. */
export const sentArgument = (literal: string): string => literal.replaceAll('$$', '$');
