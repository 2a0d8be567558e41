import type { JsonObject } from '#conductor/model/json-object.ts';
import type { RequestedStep } from '#conductor/model/planned-step.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

/** What is known of RAID and BIOS. */
export interface KnownHardware {
  /** As the agent has built it. */
  readonly raidConfig: JsonObject;
  /** As last read, by name. */
  readonly biosSettings: ReadonlyMap<string, string | null>;
}

/**
 * Steps of manual cleaning that make RAID and BIOS what the documents say; those are left out that are known to change
 * nothing. BIOS first: it may decide how disks are seen. Pure.
 */
export function hardwareSteps(
  wanted: Pick<SiteNode, 'targetRaid' | 'biosSettings'>,
  known: KnownHardware,
): RequestedStep[] {
  const settings = (wanted.biosSettings ?? []).filter(({ name, value }) => known.biosSettings.get(name) !== value);
  const bios = settings.length > 0 ? [step('bios', 'apply_configuration', { settings })] : [];
  const isBuilt = !wanted.targetRaid || isAsWanted(wanted.targetRaid, known.raidConfig);
  const raid = isBuilt ? [] : [step('raid', 'delete_configuration'), step('raid', 'create_configuration')];
  return [...bios, ...raid];
}

function step(kind: string, name: string, args: JsonObject = {}): RequestedStep {
  return { interface: kind, step: name, args, priority: 0 };
}

/** What was built tells a size in place of `MAX`, and names of its own for volumes that had none. */
function isAsWanted(target: JsonObject, built: JsonObject): boolean {
  const wanted = disksOf(target);
  const found = disksOf(built);
  return wanted.length === found.length && wanted.every((disk, index) => isDisk(disk, found[index] ?? {}));
}

function isDisk(wanted: JsonObject, found: JsonObject): boolean {
  if (wanted['raid_level'] !== found['raid_level']) return false;
  if (wanted['size_gb'] !== 'MAX' && wanted['size_gb'] !== found['size_gb']) return false;
  return wanted['volume_name'] === undefined || wanted['volume_name'] === found['volume_name'];
}

function disksOf(config: JsonObject): readonly JsonObject[] {
  const disks = config['logical_disks'];
  return Array.isArray(disks) ? (disks as JsonObject[]) : [];
}
