import { staticAddresses } from '#conductor/boot/static-addresses.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import { findSharedBonds, warnOfCables } from '#conductor/flows/network/node-network.ts';
import { isRefusal } from '#conductor/flows/plan/is-refusal.ts';
import { readPlan } from '#conductor/flows/plan/read-plan.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { InterfaceKind } from '#conductor/model/node-words.ts';
import { networkInterfaces, parseNetworkInterface, validateNetwork } from '#conductor/networks/network-interfaces.ts';
import { buildImageInfo, checkImageUrls } from '#conductor/nodes/boot/image-info.ts';
import { nodeRamdisk, unusedRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import {
  asksBmcToInspect,
  bootsFromVirtualMedia,
  hasFakeDeploy,
  isSwitchedOff,
  writesNoImage,
} from '#conductor/nodes/node-interfaces.ts';
import { isReadByProjects } from '#conductor/nodes/node-ownership.ts';
import { listPortGroups } from '#conductor/nodes/ports/bond-numbers.ts';
import { listNodePorts, listVifs } from '#conductor/nodes/ports/port-store.ts';
import { bootVolume, findBootVolume, listNodeConnectors, openTarget } from '#conductor/nodes/resources/volume.ts';
import { listSameMachine } from '#conductor/nodes/same-bmc.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

/** `null` = the node has no such interface. */
export interface InterfaceValidation {
  readonly result: boolean | null;
  readonly reason?: string;
}

type ValidationContext = Pick<EngineContext, 'config' | 'db' | 'drivers' | 'networks' | 'secrets' | 'steps'>;

/** In the order in which they are reported. */
const interfaces = [
  'power',
  'management',
  'boot',
  'deploy',
  'network',
  'storage',
  'bios',
  'console',
  'firmware',
  'inspect',
  'raid',
  'rescue',
] as const;
export type Interface = (typeof interfaces)[number];

/**
 * Serves `GET /v1/nodes/{node}/validate` (ironic-api.md §3.6): whether each interface has what it needs. Touches no
 * hardware.
 */
export async function validateNode(
  context: ValidationContext,
  node: NodeRow,
): Promise<Record<string, InterfaceValidation>> {
  const checks = await readChecks(context, node, interfaces);
  const found = Object.fromEntries(interfaces.map((name) => [name, checks[name]()]));
  const answers = await withPlannedDeploy(context, node, found);
  const same = await listSameMachine(context.db, node);
  if (same.length === 0 || answers['power']?.result !== true) return answers;
  const others = isReadByProjects(node) ? ['another node'] : same;
  const reason = `${nameSome(others, 5)} ${others.length === 1 ? 'has' : 'have'} the same BMC and system: each would deploy and wipe the same machine`;
  return { ...answers, power: { result: true, reason } };
}

/** Adds to a sound deploy interface what planning a deploy refuses, templates of traits among it, as Ironic does. */
async function withPlannedDeploy(
  context: ValidationContext,
  node: NodeRow,
  found: Record<string, InterfaceValidation>,
): Promise<Record<string, InterfaceValidation>> {
  if (found['power']?.result !== true || found['deploy']?.result !== true) return found;
  try {
    await readPlan(context, node, { kind: 'deploy', requested: [] });
    return found;
  } catch (error) {
    return { ...found, deploy: { result: false, reason: errorChain(requireRefusal(error)) } };
  }
}

/** @throws every error that is no refusal */
function requireRefusal(error: unknown): AppError {
  if (isRefusal(error)) return error;
  throw error;
}

/** Reads the facts for checks of the interfaces that are `asked` for, and makes the checks; the others must not be called. */
async function readChecks(
  context: ValidationContext,
  node: NodeRow,
  asked: readonly Interface[],
): Promise<Record<Interface, () => InterfaceValidation>> {
  const isAsked = (...names: readonly Interface[]): boolean => names.some((name) => asked.includes(name));
  const isFake = hasFakeDeploy(node);
  const isSwitched = isAsked('network') && switchesPorts(node);
  const boots = isAsked('boot') && !isFake;
  const deploys = isAsked('deploy') && !isFake;
  const [ports, vifs, volume, connectors] = await Promise.all([
    boots || isSwitched || isAsked('inspect', 'rescue') ? listNodePorts(context.db, node.uuid) : [],
    isSwitched ? listVifs(context.db, node.uuid) : [],
    deploys ? findBootVolume(context.db, node.uuid) : undefined,
    deploys ? listNodeConnectors(context.db, node.uuid) : [],
  ]);
  const groups = isSwitched ? await listPortGroups(context.db, context.networks.networks, node.uuid) : [];
  const sharedBonds = isSwitched ? await findSharedBonds(context, node, ports) : [];
  const cables = isSwitched ? await warnOfCables(context, node) : [];
  let reached: InterfaceValidation | undefined;
  const bmc = (): InterfaceValidation => (reached ??= check(() => context.drivers.connect(node)));
  const boot = (): InterfaceValidation => {
    const answer = check(() => {
      requireBootable(node, ports);
      nodeRamdisk(context, node);
    });
    const { fault } = unusedRamdisk(context, node);
    return answer.result === true && fault !== undefined ? { result: true, reason: fault } : answer;
  };
  const unless = (kind: InterfaceKind, validate: () => InterfaceValidation) => (): InterfaceValidation =>
    isSwitchedOff(node, kind) ? { result: null, reason: 'not supported' } : validate();
  const passed = (): InterfaceValidation => ({ result: true });
  // in-band: it needs what power and boot need
  const ramdisk = (kind: 'inspect' | 'rescue') => (): InterfaceValidation =>
    isFake && !fakesFlow(kind, node) && bmc().result === true ? boot() : bmc();
  return {
    power: bmc,
    management: bmc,
    // a deploy that only pretends needs no ramdisk
    boot: isFake ? passed : unless('boot', boot),
    // a machine that boots from a volume is sent no image
    deploy: isFake
      ? passed
      : () =>
          check(() => {
            checkImageUrls(node.instanceInfo, context.config.outbound.images);
            if (runsFromRamdisk(node)) return ramdiskInstance(node);
            if (volume) return bootVolume(openTarget(context.secrets, volume), connectors);
            if (writesNoImage(node)) return undefined;
            return buildImageInfo({ ...node, instanceInfo: openNodeDocument(context.secrets, node, 'instanceInfo') });
          }),
    network: () => {
      const answer = check(() => {
        const { result, reason } = validateNetwork({
          networkInterface: parseNetworkInterface(node.networkInterface),
          ports,
          networks: context.networks.networks,
          vifs,
          groups,
        });
        const faults = [...(result ? [] : [reason ?? 'the network is not set up']), ...sharedBonds];
        if (faults.length > 0) throw new AppError('invalid_argument', faults.join('; '));
      });
      // found by an earlier inspection: the cable may have been put right since
      return answer.result === true && cables.length > 0 ? { result: true, reason: cables.join(' ') } : answer;
    },
    storage: passed,
    bios: unless('bios', bmc),
    console: unless('console', bmc),
    firmware: unless('firmware', bmc),
    inspect: unless('inspect', asksBmcToInspect(node) ? bmc : ramdisk('inspect')),
    // the agent's steps
    raid: unless('raid', bmc),
    rescue: unless('rescue', ramdisk('rescue')),
  };
}

/** The interfaces without which a flow can't run, in the order in which they are reported. */
export async function requireValid(
  context: ValidationContext,
  node: NodeRow,
  needed: readonly Interface[],
): Promise<void> {
  const checks = await readChecks(context, node, needed);
  const faults = needed.flatMap((name) => {
    const answer = checks[name]();
    return answer.result === true ? [] : [`${name}: ${answer.reason ?? 'invalid'}`];
  });
  if (faults.length > 0) {
    throw new AppError('invalid_argument', `Node ${node.uuid} failed validation. ${faults.join('; ')}`);
  }
}

/** @throws AppError `invalid_argument` where the ramdisk can't be booted over, or configured over any port. */
export function requireBootable(
  node: Pick<NodeRow, 'uuid' | 'properties' | 'instanceInfo' | 'networkData'> &
    Parameters<typeof bootsFromVirtualMedia>[0],
  ports: readonly { readonly pxeEnabled: boolean }[],
): void {
  if (bootsFromVirtualMedia(node)) {
    staticAddresses(node.networkData);
    if (ports.length === 0) throw new AppError('invalid_argument', `node ${node.uuid} has no port: create one`);
  } else if (!ports.some((port) => port.pxeEnabled)) {
    throw new AppError('invalid_argument', `node ${node.uuid} has no port with pxe_enabled: create one`);
  }
}

/**
 * Checks whether the node's network interface moves switch ports. Where it does not, its network depends on nothing that is
 * stored beside the node.
 */
function switchesPorts({ networkInterface }: NodeRow): boolean {
  return networkInterfaces[parseNetworkInterface(networkInterface)].connects;
}

function check(attempt: () => unknown): InterfaceValidation {
  try {
    attempt();
    return { result: true };
  } catch (error) {
    return { result: false, reason: errorChain(requireRefusal(error)) };
  }
}
