import type { HelpTable } from '#conductor/cli/shell/command.ts';
import { type ParameterName, timeoutsOf } from '#conductor/model/site/action-parameters.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';

const { drainTimeout, clearLabelsTimeout, removeEtcdTimeout, etcdReadyTimeout } = timeoutsOf({});

const meanings: Readonly<Record<ParameterName, string>> = {
  target_nodes: 'names of nodes, n1,n2',
  'allow-intermediate-commits': 'although commits lie between the last site action and this one (default: false)',
  'continue-on-fail': 'update_site also when nothing is deployed yet, which deploy_site always does (default: false)',
  dry_run: 'as --dry-run (default: false)',
  'preserve-local-storage': 'only the disk with the operating system is wiped (default: false)',
  'target-revision': 'whose documents: committed, successful-site-action or last-site-action',
  'not-in-cluster-ok': 'a node that the Kubernetes cluster does not have is torn down all the same (default: false)',
  force: 'the last Ready node of a cluster, or of a role, is torn down all the same (default: false)',
  'drain-node-timeout': `seconds for the drain (default: ${drainTimeout})`,
  'drain-node-grace-period':
    'seconds that each pod gets to end by itself, less than drain-node-timeout; 0 = deleted at once, its containers may still run (default: half of it, at most 1800)',
  'clear-labels-timeout': `seconds for the pods to settle (default: ${clearLabelsTimeout})`,
  'remove-etcd-timeout': `seconds for the etcd members to leave (default: ${removeEtcdTimeout})`,
  'etcd-ready-timeout': `seconds for the etcd clusters to become stable (default: ${etcdReadyTimeout})`,
  'remove-node': 'Baton forgets the node once it is torn down (default: false)',
};

/** Which action has which parameters, from the table by which they are read, and what each says. Pure. */
export function actionParameterTables(): HelpTable[] {
  const actions = Object.entries(actionTable).map(([action, { parameters, required = [], revision }]) => {
    const shown = parameters.map((name) => {
      if (required.includes(name)) return `${name} (must be given)`;
      return name === 'target-revision' && revision !== undefined ? `${name} (default: ${revision})` : name;
    });
    return [`  ${action}`, shown.join(', ')] as const;
  });
  const used = new Set<string>(Object.values(actionTable).flatMap(({ parameters }) => parameters));
  const names = Object.entries(meanings).filter(([name]) => used.has(name));
  return [
    { title: 'parameters of each action, for --param NAME=VALUE', rows: actions },
    { title: 'what they say', rows: names.map(([name, meaning]) => [`  ${name}`, meaning] as const) },
  ];
}
