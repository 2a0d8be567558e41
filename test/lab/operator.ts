import { join, resolve } from 'node:path';
import type { FlowView, PlanView } from '#conductor/api/flows.ts';
import { readManifest } from '#image-build/manifest.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import { switchId } from '#test/lab/network.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** An operator's view of a node through the API. */

export interface NodeView {
  readonly uuid: string;
  readonly name: string;
  readonly provision_state: string;
  readonly target_provision_state: string | null;
  readonly power_state: string | null;
  readonly last_error: string | null;
  readonly instance_uuid: string | null;
}

export interface DemoImage {
  /** The raw image on this machine. */
  readonly rawFile: string;
  /** Below the conductor's `/images/`: the compressed image. */
  readonly urlPath: string;
  /** Digest of the compressed image, as it is served. */
  readonly sha256: string;
  readonly servedBytes: number;
  /** Fields that `instance_info` has of it besides. */
  readonly instanceInfo?: Readonly<Record<string, unknown>>;
}

/** The demo image as its build's manifest describes it. */
export async function readDemoImage(directory = 'build/os-image'): Promise<DemoImage> {
  const manifest = await readManifest(directory);
  const served = manifest?.outputs.find((output) => output.name === 'demo.raw.zst');
  if (!served) throw new AppError('not_found', `there is no demo image in ${directory}: run npm run set-up first`);
  return {
    rawFile: resolve(join(directory, 'demo.raw')),
    urlPath: `/images/${served.name}`,
    sha256: served.sha256,
    servedBytes: served.size,
  };
}

/** The demo system's root file system alone, as qcow2: a partition image. */
export async function readDemoRootImage(rootGb: number, directory = 'build/os-image'): Promise<DemoImage> {
  const manifest = await readManifest(directory);
  const served = manifest?.outputs.find((output) => output.name === 'demo-root.qcow2');
  if (!served) throw new AppError('not_found', `there is no root image in ${directory}: run npm run set-up first`);
  return {
    rawFile: resolve(join(directory, 'demo.raw')),
    urlPath: `/images/${served.name}`,
    sha256: served.sha256,
    servedBytes: served.size,
    instanceInfo: { image_type: 'partition', image_disk_format: 'qcow2', root_gb: rootGb },
  };
}

const inspectLimitMs = 14 * 60_000;

export interface LabBond {
  /** Address as the lab was told. */
  readonly secondMac: string;
  /** Description of its port group. */
  readonly group: Readonly<Record<string, unknown>>;
}

/**
 * Enrolls a machine and takes it to `available`: node, ports, manage, inspect if asked for, provide.
 * @param bond of both of its cards
 */
export async function enrollNode(
  lab: Lab,
  node: LabNode,
  { inspect = false, bond }: { readonly inspect?: boolean; readonly bond?: LabBond } = {},
): Promise<NodeView> {
  const created = await lab.api.call<NodeView>('POST', '/v1/nodes', {
    name: node.name,
    driver: node.bmc.driver,
    driver_info: node.bmc.driverInfo,
    properties: { capabilities: `boot_mode:${node.machine.firmware}` },
    automated_clean: false,
    resource_class: 'lab',
    boot_interface: node.bootInterface,
    ...(node.staticAddress === undefined ? {} : staticNetwork(node.machine.mac, node.staticAddress)),
  });
  const { mac } = node.machine;
  const grouped = bond && (await createGroup(lab, created.uuid, { address: mac, ...bond.group }));
  const cards = [{ mac, port: node.name }, ...(bond ? [{ mac: bond.secondMac, port: `${node.name}b` }] : [])];
  for (const card of cards) {
    await lab.api.call('POST', '/v1/ports', {
      node_uuid: created.uuid,
      address: card.mac,
      pxe_enabled: card.mac === mac && node.staticAddress === undefined,
      local_link_connection: { switch_id: switchId, port_id: card.port, switch_info: 'lab' },
      ...grouped,
    });
  }
  await provision(lab, node, 'manage');
  await waitForState(lab, node, 'manageable');
  if (inspect) {
    await provision(lab, node, 'inspect');
    await waitForState(lab, node, 'manageable', inspectLimitMs);
  }
  await provision(lab, node, 'provide');
  return waitForState(lab, node, 'available');
}

async function createGroup(lab: Lab, nodeUuid: string, group: object): Promise<{ portgroup_uuid: string }> {
  const { uuid } = await lab.api.call<{ uuid: string }>('POST', '/v1/portgroups', { node_uuid: nodeUuid, ...group });
  return { portgroup_uuid: uuid };
}

function staticNetwork(mac: string, address: string): Record<string, unknown> {
  return {
    network_data: {
      links: [{ id: 'nic0', type: 'phy', ethernet_mac_address: mac }],
      networks: [{ link: 'nic0', type: 'ipv4', ip_address: address, netmask: '255.255.255.0' }],
    },
  };
}

/** Says what the node is to become: the image, and the instance's UUID. */
export async function noteInstance(lab: Lab, node: LabNode, image: DemoImage, instanceUuid: string): Promise<void> {
  await lab.api.call('PATCH', `/v1/nodes/${node.name}`, [
    { op: 'add', path: '/instance_uuid', value: instanceUuid },
    { op: 'add', path: '/instance_info/image_source', value: `${lab.conductor.url}${image.urlPath}` },
    { op: 'add', path: '/instance_info/image_disk_format', value: 'raw' },
    { op: 'add', path: '/instance_info/image_os_hash_algo', value: 'sha256' },
    { op: 'add', path: '/instance_info/image_os_hash_value', value: image.sha256 },
    ...Object.entries(image.instanceInfo ?? {}).map(([name, value]) => ({
      op: 'add',
      path: `/instance_info/${name}`,
      value,
    })),
  ]);
}

export interface RequestedDeployStep {
  readonly interface: string;
  readonly step: string;
  readonly priority: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Reads what a deploy of the noted image would do. */
export function readPlan(lab: Lab, node: LabNode, deploySteps: readonly RequestedDeployStep[]): Promise<PlanView> {
  return lab.api.call('POST', `/v1/nodes/${node.name}/plan`, { target: 'active', deploy_steps: deploySteps });
}

export interface DeployOptions {
  readonly hostName: string;
  readonly instanceUuid: string;
  /** Beside the built-in ones. */
  readonly deploySteps?: readonly RequestedDeployStep[];
  /** Hash of the plan that was read. */
  readonly planHash?: string | undefined;
}

/** Asks for `active` with the image noted before; returns when the request has been accepted. */
export async function requestDeploy(lab: Lab, node: LabNode, options: DeployOptions): Promise<void> {
  const { hostName, instanceUuid, deploySteps = [], planHash } = options;
  await provision(lab, node, 'active', {
    ...(deploySteps.length > 0 ? { deploy_steps: deploySteps } : {}),
    ...(planHash === undefined ? {} : { plan_hash: planHash }),
    configdrive: { meta_data: { uuid: instanceUuid, hostname: hostName, name: hostName, instance_uuid: instanceUuid } },
  });
}

export async function provision(lab: Lab, node: LabNode, target: string, more: object = {}): Promise<void> {
  await lab.api.call('PUT', `/v1/nodes/${node.name}/states/provision`, { target, ...more });
}

export function getNode(lab: Lab, node: LabNode): Promise<NodeView> {
  return lab.api.call<NodeView>('GET', `/v1/nodes/${node.name}`);
}

/** The flow under way or the last one; `undefined` before the first. */
export async function getFlow(lab: Lab, node: LabNode): Promise<FlowView | undefined> {
  try {
    return await lab.api.call<FlowView>('GET', `/v1/nodes/${node.name}/flow`);
  } catch (error) {
    if (error instanceof AppError && error.details['status'] === 404) return undefined;
    throw error;
  }
}

/** @throws AppError `timeout`, or `agent_error` with the node's `last_error` as soon as it has failed. */
export async function waitForState(lab: Lab, node: LabNode, state: string, timeoutMs = 300_000): Promise<NodeView> {
  const view = await waitUntil(
    `${node.name} to become ${state}`,
    async () => {
      const now = await getNode(lab, node);
      const failed = now.provision_state.endsWith('failed') || (now.target_provision_state === null && now.last_error);
      return now.provision_state === state || failed ? now : undefined;
    },
    { timeoutMs, signal: lab.closing },
  );
  if (view.provision_state === state) return view;
  throw new AppError('agent_error', `${node.name} is ${view.provision_state} and not ${state}: ${view.last_error}`);
}
