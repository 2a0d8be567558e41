import { randomUUID } from 'node:crypto';
import type { FlowView, PlanView } from '#conductor/api/flows.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import {
  type DemoImage,
  type DeployOptions,
  enrollNode,
  getFlow,
  getNode,
  noteInstance,
  readPlan,
  requestDeploy,
} from '#test/lab/operator.ts';
import { type BeaconAnswer, waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { compareImageBytes, comparePartitionTables } from '#test/lab/proofs/compare-disk.ts';
import { lookBeforeBoot } from '#test/lab/proofs/look-before-boot.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { proveIdentity, proveNetwork } from '#test/lab/proofs/prove-instance.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

export interface DeployReport {
  readonly node: string;
  readonly flow: FlowView;
  readonly proofs: readonly Proof[];
  readonly beacon: BeaconAnswer;
  /** From the request for `active` on, in milliseconds. */
  readonly activeAfterMs: number;
  readonly beaconAfterMs: number;
}

export interface DeployHooks {
  /** Steps that the request adds. */
  readonly deploySteps?: DeployOptions['deploySteps'];
  /**
   * The look at the disks before the first boot from them, in place of the comparison with the image; `undefined` as long
   * as no deployed system is on them.
   */
  readonly lookAtDisks?: () => Promise<readonly Proof[] | undefined>;
  /** UUID of the instance to be; default a new one. A node whose deploy has failed keeps the one it has. */
  readonly instanceUuid?: string;
  /** Told the plan before it runs. Then the machine is inspected first, and the deploy is asked for with the plan's hash. */
  readonly onPlan?: (plan: PlanView) => void;
  /** Told about the flow whenever it has been looked at. */
  readonly onFlow?: (flow: FlowView) => void;
  /** Told in a line of text what happens outside of the flow. */
  readonly report?: (line: string) => void;
}

const deployLimitMs = 25 * 60_000;
const bootLimitMs = 15 * 60_000;

/**
 * Enrolls the machine, deploys the image on it as an operator does, and proves the result by looking at disk, switch
 * and beacon. A proof that does not hold is reported, not thrown.
 * @throws AppError when the deploy itself fails: `agent_error` with the node's `last_error`, or `timeout`.
 */
export async function deployAndProve(
  lab: Lab,
  node: LabNode,
  image: DemoImage,
  hooks: DeployHooks = {},
): Promise<DeployReport> {
  await enrollNode(lab, node, { inspect: hooks.onPlan !== undefined });
  hooks.report?.(`${node.name} is enrolled and available (${node.machine.firmware}, ${node.bmc.driver})`);
  return deployEnrolled(lab, node, image, hooks);
}

/** The same for a node that is enrolled already, be it available or in `deploy failed`. */
export async function deployEnrolled(
  lab: Lab,
  node: LabNode,
  image: DemoImage,
  hooks: DeployHooks = {},
): Promise<DeployReport> {
  const report = hooks.report ?? (() => undefined);
  const diskProofs = proveDisks(node, image, hooks);
  const hostName = `${node.name}-${lab.directory.id}`;
  const { deploySteps = [], instanceUuid = randomUUID() } = hooks;
  await noteInstance(lab, node, image, instanceUuid);
  const plan = hooks.onPlan ? await readPlan(lab, node, deploySteps) : undefined;
  if (plan) hooks.onPlan?.(plan);
  const started = performance.now();
  await requestDeploy(lab, node, { hostName, instanceUuid, deploySteps, planHash: plan?.hash });
  const flow = await followDeploy(lab, node, hooks);
  const activeAfterMs = performance.now() - started;
  report(`${node.name} is active; waiting for its beacon on the tenant network`);
  const beacon = await waitForBeacon(lab, node, bootLimitMs);
  const beaconAfterMs = performance.now() - started;
  report(`${node.name}: its own system answers at ${beacon.address}`);
  const proofs = [
    ...(await diskProofs()),
    ...proveIdentity(beacon, hostName, instanceUuid),
    ...(await proveNetwork(lab, node, beacon.address)),
  ];
  return { node: node.name, flow, proofs, beacon, activeAfterMs, beaconAfterMs };
}

async function followDeploy(lab: Lab, node: LabNode, hooks: DeployHooks): Promise<FlowView> {
  return waitUntil(
    `${node.name} to become active`,
    async () => {
      const [view, flow] = [await getNode(lab, node), await getFlow(lab, node)];
      if (flow) hooks.onFlow?.(flow);
      if (view.provision_state === 'active' && flow) return { view, flow };
      return view.provision_state === 'deploy failed' ? { view, flow } : undefined;
    },
    { timeoutMs: deployLimitMs, everyMs: 500, signal: lab.closing },
  ).then(({ view, flow }) => {
    if (view.provision_state === 'active' && flow) return flow;
    throw new AppError('agent_error', `the deploy of ${node.name} failed: ${view.last_error}`);
  });
}

/**
 * A partition image is not on the disk as it is in its file, and with kexec no power-on comes before the system: only the
 * system is asked.
 */
function proveDisks(node: LabNode, image: DemoImage, { lookAtDisks }: DeployHooks): () => Promise<readonly Proof[]> {
  const { image_type: type, deploy_boot: boot } = image.instanceInfo ?? {};
  if (!lookAtDisks && (type === 'partition' || boot === 'kexec')) return () => Promise.resolve([]);
  const disk = node.machine.diskFiles[0] ?? '';
  const look = lookBeforeBoot(node.machine, lookAtDisks ?? (() => lookAtDisk(disk, image)));
  const nothing = 'the machine was never powered on from a disk with a system';
  return async () => (await look()) ?? [{ what: 'disk as written', holds: false, seen: nothing }];
}

async function lookAtDisk(disk: string, image: DemoImage): Promise<Proof[]> {
  const table = await comparePartitionTables(image.rawFile, disk);
  const bytes = compareImageBytes(image.rawFile, disk);
  const names = table.partitions.map(({ number, name }) => `${number} ${name}`).join(', ');
  return [
    {
      what: 'partition table as in the image',
      holds: table.faults.length === 0,
      seen: table.faults.join('; ') || `${names}; sgdisk finds no problems`,
    },
    {
      what: 'config drive partition',
      holds: table.added.includes('config-2'),
      seen: `added: ${table.added.join(', ')}`,
    },
    {
      what: 'image bytes as written, before the first boot',
      holds: bytes.firstDifference === undefined,
      seen:
        bytes.firstDifference === undefined
          ? `${bytes.comparedBytes} of ${bytes.imageBytes} bytes compared and equal (the rest is the partition table)`
          : `byte ${bytes.firstDifference} differs`,
    },
  ];
}
