import type { ActionName } from '#conductor/db/schema/site-action.ts';
import { type ActionParameters, timeoutsOf } from '#conductor/sites/actions/action-parameters.ts';
import { actionTable, readActionParameters } from '#conductor/sites/actions/action-table.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import type { Site } from '#conductor/sites/site.ts';

/** How an action has its nodes torn down; `undefined` = it tears nothing down. Pure. */
export function teardownOrder(
  { name, parameters: given }: { readonly name: ActionName; readonly parameters: Readonly<Record<string, unknown>> },
  { etcdClusters }: Pick<Site, 'etcdClusters'>,
  { kubeconfigFile }: { readonly kubeconfigFile?: string | undefined },
): TeardownOrder | undefined {
  const { teardown } = actionTable[name];
  if (teardown === undefined) return undefined;
  const parameters = readActionParameters(name, given);
  return {
    preserveLocalStorage: parameters['preserve-local-storage'] === true,
    timeouts: timeoutsOf(parameters),
    notInClusterOk: parameters['not-in-cluster-ok'] === true,
    kubernetes: kubeconfigFile !== undefined,
    etcd: etcdClusters.length > 0,
    afterwards: whatFollows(teardown, parameters),
  };
}

function whatFollows(
  teardown: 'then deploys' | 'then keeps',
  parameters: ActionParameters,
): TeardownOrder['afterwards'] {
  if (teardown === 'then deploys') return 'deploy';
  return parameters['remove-node'] === true ? 'remove' : 'keep';
}
