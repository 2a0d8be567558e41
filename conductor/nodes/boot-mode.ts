import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootMode } from '#conductor/model/boot.ts';

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
