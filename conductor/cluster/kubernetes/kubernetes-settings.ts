import { z } from 'zod';

/** Settings of how the Kubernetes cluster is reached whose nodes are torn down; part of the conductor's environment. */
export const kubernetesEnvironment = {
  BATON_KUBECONFIG: z
    .string()
    .optional()
    .describe('kubeconfig of the Kubernetes cluster that nodes are part of; its current context counts'),
} as const;
