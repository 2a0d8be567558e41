import { z } from 'zod';
import { isUnknownNode, messagesOf } from '#conductor/cluster/cluster-faults.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

export interface ClusterConfig {
  /** `undefined` = no Kubernetes cluster is known. */
  readonly kubeconfigFile: string | undefined;
  /** Below which documents may name what etcd clusters are reached with. */
  readonly etcdTlsDirectory: string;
}

/** Settings of how clusters are reached whose nodes are torn down; part of the conductor's environment. */
export const clusterEnvironment = {
  BATON_KUBECONFIG: z
    .string()
    .optional()
    .describe('kubeconfig of the Kubernetes cluster that nodes are part of; its current context counts'),
  BATON_ETCD_TLS_DIR: z
    .string()
    .default('/etc/baton/etcd')
    .describe('directory whose subdirectories (`tls` of an etcd cluster) have `ca.crt`, `client.crt` and `client.key`'),
} as const;

/** One of the steps that take a node out of its clusters, in the seed's order. */
export interface DecommissionStep {
  /** The name as in its endpoint: `clear-labels`. */
  readonly name: string;
  readonly run: () => Promise<readonly RoundMessage[]>;
  /** Its failure is reported, and holds nothing up: what follows a decommission does without it. */
  readonly mayFail?: boolean;
}

/**
 * Runs the steps one after another, up to the first that fails: nothing of a node is taken apart whose pods, or whose
 * part in etcd, are still needed. A repeat finds what was done before done.
 * @returns what each step did and met, in order
 * @throws AppError `not_found` when the first step's cluster has no such node, `conflict` when that refuses to begin, `unavailable` when it was stopped; else
 * `command_failed` with `details.reason` `DisassociateStepFailure` and all messages, also of what was not started
 */
export async function runDecommission(
  node: string,
  steps: readonly DecommissionStep[],
): Promise<readonly RoundMessage[]> {
  const messages: RoundMessage[] = [];
  for (const [index, { name, run, mayFail }] of steps.entries()) {
    try {
      messages.push(...(await run()).map((each) => ofStep(name, each)));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      messages.push(...failureOf(name, error));
      if (mayFail === true && error.code !== 'unavailable') continue;
      if (index === 0 && (isUnknownNode(error) || error.details['refusal'] === true)) throw error;
      messages.push(...steps.slice(index + 1).map((left) => ofStep(left.name, { message: 'not begun', error: false })));
      throw new AppError(
        error.code === 'unavailable' ? 'unavailable' : 'command_failed',
        `decommission of ${node} ended at its step ${name}`,
        { cause: error, retryable: error.retryable, details: { reason: 'DisassociateStepFailure', messages } },
      );
    }
  }
  return messages;
}

function ofStep(name: string, message: RoundMessage): RoundMessage {
  return { ...message, message: `${name}: ${message.message}` };
}

function failureOf(name: string, error: AppError): RoundMessage[] {
  const whole: RoundMessage = {
    message: errorChain(error),
    error: true,
    name,
    kind: 'DecommissionStep',
    summarized: true,
  };
  return [...messagesOf(error), whole].map((each) => ofStep(name, each));
}
