import { z } from 'zod';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { parseReply } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A right as RBAC has it. */
export interface Right {
  readonly verb: string;
  /** `''` = core. */
  readonly group: string;
  /** `pods`. */
  readonly resource: string;
  readonly subresource?: string;
  /** Absent = in all of them. */
  readonly namespace?: string;
}

export const patchRight: Right = { verb: 'patch', group: '', resource: 'nodes' };
export const deleteRight: Right = { verb: 'delete', group: '', resource: 'nodes' };
/** Without it waits for nodes poll. */
export const watchRight: Right = { verb: 'watch', group: '', resource: 'nodes' };
export const listPodsRight: Right = { verb: 'list', group: '', resource: 'pods' };
export const evictRight: Right = { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' };
export const daemonSetRight: Right = { verb: 'get', group: 'apps', resource: 'daemonsets' };

const Review = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

/**
 * Finds those of the rights that the kubeconfig's account lacks (SelfSubjectAccessReview), as in `create
 * pods/eviction`. An account that the server doesn't let ask lacks nothing that is known.
 * @throws AppError as `Cluster.request`
 */
export async function findMissingRights(
  cluster: Cluster,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<string[]> {
  const answers = await Promise.all(rights.map((right) => isAllowed(cluster, right, signal)));
  return rights.filter((_, index) => answers[index] === false).map(describeRight);
}

async function isAllowed(cluster: Cluster, right: Right, signal: AbortSignal): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: right },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  try {
    return parseReply(Review, await cluster.request('POST', path, { body, signal }), 'access review').status.allowed;
  } catch (error) {
    if (error instanceof AppError && [403, 404].includes(Number(error.details['status']))) return true;
    throw error;
  }
}

function describeRight({ verb, group, resource, subresource, namespace }: Right): string {
  const what = `${resource}${subresource === undefined ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
  return `${verb} ${what}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}

/** @param what was to be done. @param missing as of `findMissingRights` */
export function rightsError(what: string, missing: readonly string[], cause?: AppError): AppError {
  const message = `${what}: the account of BATON_KUBECONFIG may not ${missing.join(', ')}; give its role that right`;
  return new AppError('forbidden', message, cause ? { cause } : {});
}
