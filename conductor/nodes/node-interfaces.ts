import { networkInterfaceNames } from '#conductor/networks/network-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Ironic's per-node interface choices. Baton has one implementation behind each name, so there is nothing to choose but
 * the network; the names are what clients read and send back.
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

/** What Ironic calls the power and management interface of a hardware type. */
const bmcInterfaces: Readonly<Record<string, string>> = { 'fake-hardware': 'fake', ipmi: 'ipmitool' };

/** Its BIOS interface; in-band steps need none. */
const biosInterfaces: Readonly<Record<string, string>> = { 'fake-hardware': 'fake', redfish: 'redfish' };

/** The interface names that a node with this driver may have, the default first. */
export function supportedInterfaces(driver: string, kind: InterfaceKind): readonly string[] {
  if (kind === 'network') return networkInterfaceNames;
  if (kind === 'management' || kind === 'power') return [bmcInterfaces[driver] ?? driver];
  if (kind === 'bios') return [biosInterfaces[driver] ?? 'no-bios'];
  return [fixedInterfaces[kind]];
}

/** The name of the node's interface of this kind. */
export function interfaceOf(
  node: { readonly driver: string; readonly networkInterface: string },
  kind: InterfaceKind,
): string {
  return kind === 'network' ? node.networkInterface : (supportedInterfaces(node.driver, kind)[0] ?? '');
}

/** The node's interface names by kind. */
export function nodeInterfaces(node: Parameters<typeof interfaceOf>[0]): Record<InterfaceKind, string> {
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
