import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootMode } from '#conductor/model/power-and-boot.ts';
import type { Log } from '#shared/log.ts';

/**
 * Ironic's capabilities, `name:value,name:value`, with one of them replaced. An object, which some operators write in
 * its place, becomes text too.
 */
export function withCapability(capabilities: unknown, name: string, value: string): string {
  return [...others(capabilities, name), `${name}:${value}`].join(',');
}

/** The same without it. */
export function withoutCapability(capabilities: unknown, name: string): string {
  return others(capabilities, name).join(',');
}

function others(capabilities: unknown, name: string): string[] {
  return listed(capabilities)
    .map((each) => each.trim())
    .filter((each) => each !== '' && !each.startsWith(`${name}:`));
}

function listed(capabilities: unknown): readonly string[] {
  if (typeof capabilities === 'string') return capabilities.split(',');
  if (typeof capabilities !== 'object' || capabilities === null) return [];
  return Object.entries(capabilities).map(([key, value]) => `${key}:${String(value)}`);
}

/** `capabilities`: `"boot_mode:uefi,secure_boot:true"` as text, or an object. */
function capabilitiesOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  if (typeof value !== 'string') return {};
  const pairs = value.split(',').flatMap((pair) => {
    const colon = pair.indexOf(':');
    return colon < 0 ? [] : [[pair.slice(0, colon).trim(), pair.slice(colon + 1).trim()] as const];
  });
  return Object.fromEntries(pairs);
}

/** A capability that the operator asks for: `instance_info.capabilities` over `properties.capabilities`. */
export function capabilityOf(node: Pick<NodeRow, 'instanceInfo' | 'properties'>, name: string): unknown {
  return (
    capabilitiesOf(node.instanceInfo['capabilities'])[name] ?? capabilitiesOf(node.properties['capabilities'])[name]
  );
}

/**
 * The boot mode that the operator asks for; else the machine's own, as last read or set, as in Ironic (`sync_boot_mode`),
 * so that booting leaves it alone; UEFI where neither is known.
 */
export function bootModeOf(node: Pick<NodeRow, 'instanceInfo' | 'properties' | 'bootMode'>): BootMode {
  const asked = capabilityOf(node, 'boot_mode') ?? node.bootMode;
  return asked === 'bios' ? 'bios' : 'uefi';
}

export type FirmwareBootColumns = Partial<Pick<NodeRow, 'bootMode' | 'secureBoot'>>;

/**
 * Boot mode and secure boot as the BMC reports them, for the node's row; nothing where the driver can't ask. Nobody's
 * work depends on them: a BMC that fails here leaves what was read before, and the log says so.
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
