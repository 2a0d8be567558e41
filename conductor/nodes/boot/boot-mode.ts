import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootMode } from '#conductor/model/power-and-boot.ts';
import type { Log } from '#shared/log.ts';

/**
 * Returns Ironic's capabilities, `name:value,name:value`, with one of them replaced. An object, which some operators write
 * in its place, becomes text too.
 */
export function withCapability(capabilities: unknown, name: string, value: string): string {
  return [...others(capabilities, name), `${name}:${value}`].join(',');
}

/** Returns whether Ironic's capabilities have this one. */
export function hasCapability(capabilities: unknown, name: string): boolean {
  return capabilityIn(capabilities, name) !== undefined;
}

/** Returns Ironic's capabilities without one of them. */
export function withoutCapability(capabilities: unknown, name: string): string {
  return others(capabilities, name).join(',');
}

function others(capabilities: unknown, name: string): string[] {
  return parseCapabilities(capabilities)
    .filter(([each]) => each !== name)
    .map(([each, value]) =>
      value === undefined ? each : `${each}:${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
}

/** Parses `"boot_mode:uefi,secure_boot:true"`, or an object; a word without a colon has no value. */
function parseCapabilities(capabilities: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (typeof capabilities === 'object' && capabilities !== null) return Object.entries(capabilities);
  if (typeof capabilities !== 'string') return [];
  return capabilities
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', ...value] = pair.split(':');
      return [name.trim(), value.length === 0 ? undefined : value.join(':').trim()];
    });
}

/** Returns a capability that the operator asks for: `instance_info.capabilities` over `properties.capabilities`. */
export function capabilityOf(node: Pick<NodeRow, 'instanceInfo' | 'properties'>, name: string): unknown {
  return capabilityIn(node.instanceInfo['capabilities'], name) ?? capabilityIn(node.properties['capabilities'], name);
}

/** Finds a capability; of several with one name the last. */
function capabilityIn(capabilities: unknown, name: string): unknown {
  return parseCapabilities(capabilities).findLast(([each, value]) => each === name && value !== undefined)?.[1];
}

/**
 * Returns the boot mode that the operator asks for; else the machine's own, as last read or set, as in Ironic
 * (`sync_boot_mode`), so that booting leaves it alone; UEFI where neither is known.
 */
export function bootModeOf(node: Pick<NodeRow, 'instanceInfo' | 'properties' | 'bootMode'>): BootMode {
  const asked = capabilityOf(node, 'boot_mode') ?? node.bootMode;
  return asked === 'bios' ? 'bios' : 'uefi';
}

export type FirmwareBootColumns = Partial<Pick<NodeRow, 'bootMode' | 'secureBoot'>>;

/**
 * Reads boot mode and secure boot from the BMC, for the node's row; nothing where the driver can't ask. Nobody's work
 * depends on them: a BMC that fails here leaves what was read before, and the log says so.
 */
export async function readFirmwareBoot(
  bmc: Bmc,
  options: { readonly log: Log; readonly signal: AbortSignal },
): Promise<FirmwareBootColumns> {
  const { firmwareBoot } = bmc;
  if (!firmwareBoot) return {};
  try {
    const { bootMode, secureBoot } = await firmwareBoot.read({ signal: options.signal });
    return { bootMode: bootMode ?? null, secureBoot: secureBoot ?? null };
  } catch (error) {
    options.signal.throwIfAborted();
    options.log.warn({ err: error }, 'boot mode not read');
    return {};
  }
}
