import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FlowView } from '#conductor/api/flows.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Lab, LabNode, LabNodeOptions } from '#test/lab/lab.ts';
import { type DemoImage, getFlow, getNode } from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { lookAtMarks } from '#test/lab/proofs/look-at-marks.ts';
import { lookBeforeBoot } from '#test/lab/proofs/look-before-boot.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { proveIdentity, proveNetwork } from '#test/lab/proofs/prove-instance.ts';
import { type CommandHooks, commitSite, nodeValues, profileDocument } from '#test/lab/site/commit-site.ts';
import { fillDocument } from '#test/lab/site/fill-document.ts';
import { provePlugins } from '#test/lab/site/prove-plugins.ts';
import { groupOf, runAction, type SeenAction } from '#test/lab/site/site-action.ts';

/** Folder of `documents/` and `plugins/`, which `npm run lab -- --site` deploys. */

const here = import.meta.dirname;
const plugins = ['lab-base', 'lab-monitoring'];
const marksFile = '/etc/plugin-marks';

interface SiteMachine {
  readonly name: string;
  readonly rack: string;
  readonly tag: 'control' | 'worker';
  /** Marks that the plugins write into its system, in the order that their stages' postfixes ask for. */
  readonly marks: readonly string[];
}

const controlMarks = ['lab-monitoring -1.5', 'lab-base 0', 'lab-base 200', 'lab-monitoring 8000'];
const workerMarks = controlMarks.toSpliced(3, 0, 'lab-monitoring 200');

const siteMachines: readonly SiteMachine[] = [
  { name: 'control1', rack: 'rack01', tag: 'control', marks: controlMarks },
  { name: 'worker1', rack: 'rack02', tag: 'worker', marks: workerMarks },
  { name: 'worker2', rack: 'rack02', tag: 'worker', marks: workerMarks },
];

/** Conductor and machines as this site wants them. */
export function siteLab(machine: Pick<LabNodeOptions, 'firmware' | 'bmc'>) {
  return {
    nodes: siteMachines.map(({ name }) => ({ ...machine, name, memoryMib: 1280 })),
    // cleaned and then deployed in one boot of the ramdisk
    conductorSettings: { BATON_FAST_TRACK: 'true', BATON_CLEAN_STEP_PRIORITIES: 'deploy.erase_devices:0' },
  };
}

export interface SiteProofs {
  readonly subject: string;
  readonly proofs: readonly Proof[];
}

export interface SiteReport {
  readonly proofs: readonly SiteProofs[];
  readonly deploy: SeenAction;
  readonly again: SeenAction;
}

export interface SiteHooks extends CommandHooks {
  /** Actions are followed on the terminal, drawn as a tree of their groups. */
  readonly onTerminal?: boolean;
}

const actionLimitMs = 35 * 60_000;
const bootLimitMs = 15 * 60_000;

/**
 * Uploads the site, commits it and deploys it with the command line, then proves what came of it; then `update_site`,
 * which finds nothing to do. A proof that does not hold is reported, not thrown.
 * @throws AppError `agent_error` when a machine is not `active` afterwards
 */
export async function deploySite(lab: Lab, image: DemoImage, hooks: SiteHooks): Promise<SiteReport> {
  const { report } = hooks;
  const show = hooks.onTerminal === true ? undefined : hooks.show;
  const machines = siteMachines.map((machine) => ({ machine, ...watchMachine(lab, machine, image) }));
  const folders = plugins.map((name) => join(here, 'plugins', name));
  await commitSite(lab, { plugins: folders, documents: siteDocuments(lab, image) }, hooks);
  report('baton action create deploy_site --wait');
  const deploy = await runAction(lab, 'deploy_site', { show, timeoutMs: actionLimitMs });
  const proofs: SiteProofs[] = [{ subject: 'deploy_site', proofs: await proveDeploy(lab, deploy, machines) }];
  for (const { machine, node, look } of machines) {
    proofs.push({ subject: node.name, proofs: [...(await look()), ...(await proveMachine(lab, node, machine))] });
  }
  const boots = (): number => machines.reduce((sum, { node }) => sum + node.machine.boots.length, 0);
  const before = boots();
  report('baton action create update_site --wait');
  const again = await runAction(lab, 'update_site', { show, timeoutMs: 120_000 });
  proofs.push({
    subject: 'update_site',
    proofs: [
      {
        what: 'success',
        holds: again.exitCode === 0,
        seen: `${again.action.action_lifecycle}, exit ${again.exitCode}`,
      },
      {
        what: 'no machine is touched',
        holds: boots() === before,
        seen: `${boots() - before} boots, ${Math.round(again.wallMs)} ms`,
      },
    ],
  });
  return { proofs, deploy, again };
}

interface WatchedMachine {
  readonly machine: SiteMachine;
  readonly node: LabNode;
  readonly look: () => Promise<readonly Proof[]>;
  /** When its launcher was told for the first time to power it on; what the conductor says of itself is not a proof. */
  readonly firstPowerOn: () => number | undefined;
}

function watchMachine(lab: Lab, machine: SiteMachine, image: DemoImage): Omit<WatchedMachine, 'machine'> {
  const node = lab.nodes.find(({ name }) => name === machine.name);
  if (!node) throw new AppError('not_found', `the lab has no machine ${machine.name}`);
  const [diskFile = ''] = node.machine.diskFiles;
  const expected = { rawImage: image.rawFile, diskFile, file: marksFile, lines: machine.marks };
  const look = lookBeforeBoot(node.machine, () => lookAtMarks(expected));
  let firstPowerOn: number | undefined;
  node.machine.onPowerOn(() => {
    firstPowerOn ??= Date.now();
    return Promise.resolve();
  });
  const nothing = { what: 'disk as written', holds: false, seen: 'it was never powered on from a disk with a system' };
  return { node, look: async () => (await look()) ?? [nothing], firstPowerOn: () => firstPowerOn };
}

/** The documents with this lab's values, by the names of their files. */
function siteDocuments(lab: Lab, image: DemoImage): Record<string, string> {
  const read = (name: string): string => readFileSync(join(here, 'documents', name), 'utf8');
  const nodes = siteMachines.map(({ name, rack, tag }) =>
    fillDocument(read('node.yaml'), { ...nodeValues(lab, name), rack, tag }),
  );
  return {
    nodes: [profileDocument(lab, image), ...nodes].join('---\n'),
    plugins: read('plugins.yaml'),
    strategy: read('strategy.yaml'),
  };
}

async function proveDeploy(lab: Lab, deploy: SeenAction, machines: readonly WatchedMachine[]): Promise<Proof[]> {
  const { action, exitCode } = deploy;
  const control = groupOf(action, 'control-nodes');
  const ended = control.ended_at === null ? Number.POSITIVE_INFINITY : Date.parse(control.ended_at);
  const begun = machines.filter(({ machine }) => machine.tag === 'worker').map(({ firstPowerOn }) => firstPowerOn());
  const stages = (action.groups ?? []).map(({ name, stage }) => `${name} ${stage}`);
  const revision = await lab.api.call<{ tags: Record<string, unknown> }>(
    'GET',
    `/api/v1.0/revisions/${action.committed_rev_id}`,
  );
  const tags = Object.keys(revision.tags);
  return [
    {
      what: 'each group a success, exit code 0',
      holds: exitCode === 0 && (action.groups ?? []).every(({ stage }) => stage === 'success'),
      seen: `${stages.join(', ')}; exit ${exitCode}`,
    },
    {
      what: 'workers are powered on after the control group is a success',
      holds: begun.every((at) => at !== undefined && at >= ended),
      seen: begun
        .map((at) => (at === undefined ? 'never' : `${Math.round((at - ended) / 1000)} s after it`))
        .join(', '),
    },
    { what: 'its revision is tagged', holds: tags.includes('site-action-success'), seen: tags.join(', ') || 'no tags' },
  ];
}

async function proveMachine(lab: Lab, node: LabNode, machine: SiteMachine): Promise<Proof[]> {
  const view = await getNode(lab, node);
  if (view.provision_state !== 'active' || view.instance_uuid === null) {
    throw new AppError('agent_error', `${node.name} is ${view.provision_state}: ${view.last_error}`);
  }
  const beacon = await waitForBeacon(lab, node, bootLimitMs);
  const flow: FlowView | undefined = await getFlow(lab, node);
  return [
    ...proveIdentity(beacon, node.name, view.instance_uuid),
    ...(await proveNetwork(lab, node, beacon.address)),
    provePlugins(flow, { pre: 1, post: machine.marks.length }),
  ];
}
