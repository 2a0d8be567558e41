import type { NodeRow } from '#conductor/db/schema/node.ts';
import { networkInterfaceNames } from '#conductor/networks/network-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Ironic's per-node interface choices. Baton has one implementation behind each name, so there is little to choose: the
 * network, and whether fake hardware is deployed by an agent; the other names are what clients read and send back.
 */
export const interfaceKinds = [
  'bios',
  'boot',
  'console',
  'deploy',
  'firmware',
  'inspect',
  'management',
  'network',
  'power',
  'raid',
  'rescue',
  'storage',
  'vendor',
] as const;
export type InterfaceKind = (typeof interfaceKinds)[number];

const fixedInterfaces: Readonly<Record<Exclude<InterfaceKind, 'management' | 'power' | 'network' | 'bios'>, string>> = {
  boot: 'ipxe',
  console: 'no-console',
  deploy: 'direct',
  firmware: 'no-firmware',
  inspect: 'agent',
  raid: 'no-raid',
  rescue: 'no-rescue',
  storage: 'noop',
  vendor: 'no-vendor',
};

/**
 * As in Ironic, the deploy interface `fake` is fake-hardware's default: nothing is done at the machine. With `direct` it
 * waits for an agent, as any other node.
 */
const deployInterfaces: Readonly<Record<string, readonly string[]>> = { 'fake-hardware': ['fake', 'direct'] };

/** What Ironic calls the power and management interface of a hardware type. */
const bmcInterfaces: Readonly<Record<string, string>> = { 'fake-hardware': 'fake', ipmi: 'ipmitool' };

/** Its BIOS interface; in-band steps need none. */
const biosInterfaces: Readonly<Record<string, string>> = { 'fake-hardware': 'fake', redfish: 'redfish' };

/** The interface names that a node with this driver may have, the default first. */
export function supportedInterfaces(driver: string, kind: InterfaceKind): readonly string[] {
  if (kind === 'network') return networkInterfaceNames;
  if (kind === 'management' || kind === 'power') return [bmcInterfaces[driver] ?? driver];
  if (kind === 'deploy') return deployInterfaces[driver] ?? [fixedInterfaces.deploy];
  if (kind === 'bios') return [biosInterfaces[driver] ?? 'no-bios'];
  return [fixedInterfaces[kind]];
}

/** What of a node chooses its interfaces. */
type Choosing = Pick<NodeRow, 'driver' | 'networkInterface' | 'deployInterface'>;

/** The name of the node's interface of this kind. */
export function interfaceOf(node: Choosing, kind: InterfaceKind): string {
  if (kind === 'network') return node.networkInterface;
  const chosen = kind === 'deploy' ? node.deployInterface : null;
  return chosen ?? supportedInterfaces(node.driver, kind)[0] ?? '';
}

/** Deploying and cleaning do nothing at the machine, and boot no ramdisk. */
export function hasFakeDeploy(node: Choosing): boolean {
  return interfaceOf(node, 'deploy') === 'fake';
}

/** As a node keeps it: `null` for the default, and for what its driver does not have. */
export function keptDeployInterface(driver: string, name: string | null | undefined): string | null {
  const supported = supportedInterfaces(driver, 'deploy');
  return name && name !== supported[0] && supported.includes(name) ? name : null;
}

/** The node's interface names by kind. */
export function nodeInterfaces(node: Choosing): Record<InterfaceKind, string> {
  return Object.fromEntries(interfaceKinds.map((kind) => [kind, interfaceOf(node, kind)])) as Record<
    InterfaceKind,
    string
  >;
}

/** @throws AppError `invalid_argument` naming the field and the legal names. */
export function checkInterface(driver: string, kind: InterfaceKind, name: string): void {
  const legal = supportedInterfaces(driver, kind);
  if (legal.includes(name)) return;
  throw new AppError(
    'invalid_argument',
    `${kind}_interface: driver ${driver} has no ${kind} interface '${name}'; it must be ${legal.join(', ')}.`,
  );
}
