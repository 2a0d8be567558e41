import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type InterfaceKind, interfaceKinds } from '#conductor/model/node-words.ts';
import { networkInterfaceNames } from '#conductor/networks/network-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

type InterfaceNames = Readonly<Record<InterfaceKind, readonly string[]>>;

/** Names that any hardware type has, the default first. docs/api.md says what each one means here. */
const commonNames: InterfaceNames = {
  bios: ['no-bios'],
  boot: ['ipxe', 'pxe', 'http', 'http-ipxe'],
  console: ['no-console'],
  deploy: ['direct', 'custom-agent', 'ramdisk'],
  firmware: ['no-firmware'],
  inspect: ['agent', 'no-inspect'],
  management: [],
  network: networkInterfaceNames,
  power: [],
  raid: ['agent', 'no-raid'],
  rescue: ['agent', 'no-rescue'],
  storage: ['noop', 'external'],
  vendor: ['no-vendor'],
};

/** Returns the interface names that a node with this driver may have, the default first. */
export function supportedInterfaces(driver: string, kind: InterfaceKind): readonly string[] {
  const names = findDriver(driver)?.interfaces[kind] ?? commonNames[kind];
  return names.length > 0 ? names : [driver];
}

type Choosing = Pick<NodeRow, 'driver' | 'networkInterface' | 'deployInterface' | 'interfaces'>;

/** Returns the name of the node's interface of this kind. */
export function interfaceOf(node: Choosing, kind: InterfaceKind): string {
  if (kind === 'network') return node.networkInterface;
  const chosen = kind === 'deploy' ? node.deployInterface : node.interfaces[kind];
  return chosen ?? defaultInterface(node.driver, kind);
}

/**
 * Finds the implementation behind the name: `idrac-redfish` is Redfish by the name that Ironic's `idrac` has for it.
 */
export function implementationOf(node: Choosing, kind: InterfaceKind): string {
  return interfaceOf(node, kind).replace(/^idrac-(?=redfish)/, '');
}

function defaultInterface(driver: string, kind: InterfaceKind): string {
  return supportedInterfaces(driver, kind)[0] ?? '';
}

/** Checks whether deploying and cleaning do nothing at the machine, and boot no ramdisk. */
export function hasFakeDeploy({ driver, deployInterface }: Pick<NodeRow, 'driver' | 'deployInterface'>): boolean {
  return (deployInterface ?? defaultInterface(driver, 'deploy')) === 'fake';
}

/** The image is the business of the steps that are asked for, or of the agent's own. */
export function writesNoImage(node: Choosing): boolean {
  return interfaceOf(node, 'deploy') === 'custom-agent';
}

/** The ramdisk is booted from a CD that its BMC shows to the machine, not over the network. */
export function bootsFromVirtualMedia(node: Choosing): boolean {
  return implementationOf(node, 'boot') === 'redfish-virtual-media';
}

/** Checks whether an inspection asks the BMC, and boots no ramdisk. */
export function asksBmcToInspect(node: Choosing): boolean {
  return implementationOf(node, 'inspect') === 'redfish';
}

/** Checks whether the machine's firmware loads the ramdisk itself, by HTTP. */
export function bootsByHttp(node: Choosing): boolean {
  return interfaceOf(node, 'boot') === 'http';
}

/** Decides what it boots over the network from: Ironic's `http` interfaces have the firmware's own HTTP boot do it. */
export function networkBootDevice(node: Choosing): 'uefihttp' | 'pxe' {
  return /^http(-ipxe)?$/.test(interfaceOf(node, 'boot')) ? 'uefihttp' : 'pxe';
}

/** Returns whether the operator has taken it away: `no-raid`, `no-rescue` … */
export function isSwitchedOff(node: Choosing, kind: InterfaceKind): boolean {
  return interfaceOf(node, kind) === `no-${kind}`;
}

/** @throws AppError `invalid_argument` in Ironic's words when the operator has taken the interface away. */
export function requireInterface(node: Choosing & Pick<NodeRow, 'uuid'>, kind: InterfaceKind): void {
  if (!isSwitchedOff(node, kind)) return;
  throw new AppError(
    'invalid_argument',
    `Driver ${node.driver} does not support ${kind} (disabled or not implemented): node ${node.uuid} has ` +
      `${kind}_interface 'no-${kind}'; it may be ${supportedInterfaces(node.driver, kind).join(', ')}.`,
  );
}

/** Gives the name as a node keeps it: `null` for the default, and for what its driver does not have. */
export function keptDeployInterface(driver: string, name: string | null | undefined): string | null {
  return keptName(driver, 'deploy', name) ?? null;
}

function keptName(driver: string, kind: InterfaceKind, name: string | null | undefined): string | undefined {
  const supported = supportedInterfaces(driver, kind);
  return name && name !== supported[0] && supported.includes(name) ? name : undefined;
}

type InterfaceFields = Readonly<Partial<Record<`${InterfaceKind}_interface`, string | null | undefined>>>;

/**
 * Returns the others as a node keeps them: by kind, without those that are the driver's default or that it does not have.
 */
export function keptInterfaces(driver: string, given: InterfaceFields): Record<string, string> {
  const kept = interfaceKinds
    .filter((kind) => kind !== 'network' && kind !== 'deploy')
    .flatMap((kind) => {
      const name = keptName(driver, kind, given[`${kind}_interface`]);
      return name === undefined ? [] : [[kind, name] as const];
    });
  return Object.fromEntries(kept);
}

/** Returns the node's interface names by kind. */
export function nodeInterfaces(node: Choosing): Record<InterfaceKind, string> {
  return Object.fromEntries(interfaceKinds.map((kind) => [kind, interfaceOf(node, kind)])) as Record<
    InterfaceKind,
    string
  >;
}

/** Interfaces of Ironic's that no driver here has, and what does their work. */
const waysRound: Readonly<Record<string, string>> = {
  'deploy bootc':
    " 'bootc' is not supported: make a disk image of the container (bootc-image-builder, or `bootc install to-disk`), " +
    'push its file to the registry (oras push), and deploy that with direct and image_source oci://registry/repository:tag.',
};

/** @throws AppError `invalid_argument` naming the field and the legal names. */
export function checkInterface(driver: string, kind: InterfaceKind, name: string, next = ''): void {
  const legal = supportedInterfaces(driver, kind);
  if (legal.includes(name)) return;
  const way = waysRound[`${kind} ${name}`] ?? '';
  throw new AppError(
    'invalid_argument',
    `${kind}_interface: driver ${driver} has no ${kind} interface '${name}'; it must be ${legal.join(', ')}.${way}${next}`,
  );
}
