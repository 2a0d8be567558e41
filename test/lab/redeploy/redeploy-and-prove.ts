import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { baton } from '#test/lab/baton-command.ts';
import type { Lab, LabNode, LabNodeOptions, LabSite } from '#test/lab/lab.ts';
import type { DemoImage } from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { proveIdentity, proveNetwork } from '#test/lab/proofs/prove-instance.ts';
import { lookAtInstance, type SeenInstance } from '#test/lab/redeploy/look-at-instance.ts';
import { etcdClusterName, type NodeCluster, otherMembers, startNodeCluster } from '#test/lab/redeploy/node-cluster.ts';
import { proveDisks } from '#test/lab/redeploy/prove-disks.ts';
import { proveReceipt } from '#test/lab/redeploy/prove-receipt.ts';
import { proveNewInstance, provePort } from '#test/lab/redeploy/prove-redeploy.ts';
import { proveTeardown } from '#test/lab/redeploy/prove-teardown.ts';
import { proveImpostor, proveTurn, type SecondMachine, watchSecond } from '#test/lab/redeploy/second-machine.ts';
import { showSteps } from '#test/lab/redeploy/show-steps.ts';
import { watchDisks } from '#test/lab/redeploy/watch-disks.ts';
import { type PortChange, watchPort } from '#test/lab/redeploy/watch-port.ts';
import { type CommandHooks, commitSite, nodeValues, profileDocument } from '#test/lab/site/commit-site.ts';
import type { SiteProofs } from '#test/lab/site/deploy-site.ts';
import { fillDocument } from '#test/lab/site/fill-document.ts';
import { actionCommand, runAction } from '#test/lab/site/site-action.ts';

/** Folder of `documents/` and `plugins/`, which `npm run lab -- --redeploy` works with. */

const here = import.meta.dirname;
const machineName = 'worker1';
const secondName = 'worker2';
const actionLimitMs = 30 * 60_000;

/** A machine with an OS disk and two data disks, the clusters that its node is part of, and a second machine. */
export function redeployLab(machine: Pick<LabNodeOptions, 'firmware' | 'bmc'>) {
  const cluster = Promise.withResolvers<NodeCluster>();
  const disks = [
    { bus: 'virtio', gib: 1.25 },
    { bus: 'virtio', gib: 0.125 },
    { bus: 'nvme', gib: 0.125 },
  ] as const;
  const options = {
    nodes: [
      { ...machine, name: machineName, memoryMib: 1280, disks },
      { ...machine, name: secondName },
    ],
    conductorSettings: async (site: LabSite) => {
      const started = await startNodeCluster(site, machineName);
      cluster.resolve(started);
      return {
        // the first deploy has no storage to erase: cleaned and then deployed in one boot of the ramdisk
        BATON_FAST_TRACK: 'true',
        BATON_CLEAN_STEP_PRIORITIES: 'deploy.erase_devices:0',
        ...started.settings,
      };
    },
  };
  return { options, cluster: cluster.promise };
}

/**
 * Deploys the machines from documents, has them join their clusters, and redeploys the first with its local storage, then
 * both in turn without. A proof that does not hold is reported, not thrown.
 * @throws AppError `agent_error` when an action fails
 */
export async function redeployAndProve(
  lab: Lab,
  image: DemoImage,
  { cluster, ...hooks }: CommandHooks & { readonly cluster: NodeCluster },
): Promise<SiteProofs[]> {
  const [node, other] = lab.nodes;
  if (!node || !other) throw new AppError('not_found', 'the lab has not two machines');
  hooks.report("Kubernetes' API server and kubelets are the simulator; etcd's three members are real");
  const port = watchPort(lab, node);
  const content = { plugins: [join(here, 'plugins', 'lab-storage')], documents: siteDocuments(lab, image, cluster) };
  await commitSite(lab, content, hooks);
  await act({ lab, node, hooks }, 'deploy_site', {});
  const first = await lookAtInstance(lab, node);
  hooks.report(`${first.storage.array}: a file of ${first.storage.file.slice(0, 17)}…`);
  const story = { lab, node, port, cluster, hooks };
  await joinClusters(story, first.beacon.bootId);
  const { bootId } = await waitForBeacon(lab, other, actionLimitMs);
  cluster.joinKubernetes(other.name, bootId);
  const second = { lab, node: other, bootId, cluster };
  const proofs: SiteProofs[] = [{ subject: 'deploy_site', proofs: proveFirst(first) }];
  const kept = await redeploy(story, first, { preserve: true, number: 1 });
  proofs.push({ subject: 'redeploy_server preserve-local-storage=true', proofs: kept.proofs });
  const gone = await redeploy(story, kept.after, { preserve: false, number: 2, second });
  proofs.push({ subject: 'redeploy_server of both, preserve-local-storage=false', proofs: gone.proofs });
  return proofs;
}

interface Story {
  readonly lab: Lab;
  readonly node: LabNode;
  readonly port: readonly PortChange[];
  readonly cluster: NodeCluster;
  readonly hooks: CommandHooks;
}

async function redeploy(
  story: Story,
  before: SeenInstance,
  {
    preserve,
    number,
    second,
  }: { readonly preserve: boolean; readonly number: number; readonly second?: SecondMachine },
): Promise<{ readonly after: SeenInstance; readonly proofs: readonly Proof[] }> {
  const { lab, node, port, cluster, hooks } = story;
  const firstChange = port.length;
  const teardown = cluster.watch();
  const disks = watchDisks(node.machine, [before.storage.mark, before.storage.file]);
  const watched = second && watchSecond(second);
  const targets = [node.name, ...(second ? [second.node.name] : [])].join(',');
  const parameters = { target_nodes: targets, 'preserve-local-storage': String(preserve) };
  if (preserve) await showPlan(lab, parameters, hooks);
  const comeBack = async (): Promise<readonly Proof[]> => {
    const { bootId } = await waitForBeacon(lab, node, actionLimitMs, before.beacon.bootId);
    disks.end();
    teardown.end();
    const ofTeardown = await proveTeardown({ cluster, teardown, node: node.name, firstBootAt: disks.looks[0]?.at });
    if (!second || !watched) {
      await joinClusters(story, bootId);
      return ofTeardown;
    }
    const impostor = await proveImpostor(second, node.name, { oldBootId: before.beacon.bootId, second: watched });
    const readyAt = Date.now();
    await joinClusters(story, bootId);
    return [...ofTeardown, impostor, ...(await proveTurn(second, { readyAt, second: watched }))];
  };
  // the action ends when the node is in service, and so in its clusters again
  const [ofTeardown] = await Promise.all([comeBack(), act(story, 'redeploy_server', parameters)]);
  const after = await lookAtInstance(lab, node, before.beacon.bootId);
  const instances = { before, after };
  const proofs = [
    ...ofTeardown,
    provePort(port.slice(firstChange), disks.looks),
    ...proveDisks(disks.looks, { ...instances, preserve }),
    ...proveNewInstance(instances),
    ...proveIdentity(after.beacon, node.name, after.uuid),
    ...(await proveNetwork(lab, node, after.beacon.address)),
    ...(await proveReceipt(lab, node, { preserve, count: number, show: hooks.show })),
  ];
  return { after, proofs };
}

async function joinClusters({ node, cluster, hooks }: Story, bootId: string): Promise<void> {
  await cluster.join(bootId);
  const members = await cluster.members();
  hooks.report(`${node.name} joins etcd (${members.join(', ')}) and Kubernetes`);
}

/** Shows what an operator reads before. */
async function showPlan(
  lab: Lab,
  parameters: Readonly<Record<string, string>>,
  { report, show }: CommandHooks,
): Promise<void> {
  const args = [...actionCommand('redeploy_server', parameters), '--dry-run'];
  report(`baton ${args.join(' ')}`);
  await baton(lab, args, { onLine: show });
}

/** @throws AppError `agent_error` when the action is not a success */
async function act(
  { lab, node, hooks }: Pick<Story, 'lab' | 'node' | 'hooks'>,
  name: 'deploy_site' | 'redeploy_server',
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  hooks.report(`baton ${actionCommand(name, parameters).join(' ')} --wait`);
  const { show } = hooks;
  const run = () => runAction(lab, name, { parameters, show, timeoutMs: actionLimitMs });
  const others = lab.nodes.filter((each) => each !== node);
  const work = others.reduce<typeof run>((before, each) => () => showSteps(lab, each, { work: before, show }), run);
  const { action, exitCode } = await showSteps(lab, node, { work, show });
  if (exitCode === 0 && action.action_lifecycle === 'Complete') return;
  throw new AppError('agent_error', `${name} is ${action.action_lifecycle}, and its command's exit code ${exitCode}`);
}

function siteDocuments(lab: Lab, image: DemoImage, { etcd }: NodeCluster): Record<string, string> {
  const fill = (name: string, values: Readonly<Record<string, string>>): string =>
    fillDocument(readFileSync(join(here, 'documents', name), 'utf8'), values);
  const nodeDocument = (name: string, tags: readonly string[]): string =>
    fill('node.yaml', {
      ...nodeValues(lab, name),
      serial: `LAB${name.toUpperCase()}D0`,
      tags: JSON.stringify(tags),
    });
  const endpoints = JSON.stringify(otherMembers.map((name) => etcd.member(name).url));
  return {
    nodes: [
      profileDocument(lab, image),
      nodeDocument(machineName, ['worker', 'storage']),
      nodeDocument(secondName, ['worker']),
    ].join('---\n'),
    site: ['plugins.yaml', 'timeouts.yaml'].map((name) => fill(name, {})).join('---\n'),
    etcd: fill('etcd.yaml', { cluster: etcdClusterName, node: machineName, endpoints }),
  };
}

function proveFirst({ storage }: SeenInstance): Proof[] {
  return [{ what: 'a mirror over both data disks, and a file on it', holds: storage.made, seen: storage.array }];
}
