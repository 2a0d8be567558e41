import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { softwareRaidFaults } from '#shared/raid/software-raid.ts';

/** Levels that Ironic's grammar knows; software RAID has fewer (`softwareLevels`). */
const raidLevels = ['JBOD', '0', '1', '2', '5', '6', '1+0', '5+0', '6+0'] as const;

const physicalDisksRule = 'must be a list of names, or of at least two objects of disk hints';
const PhysicalDisks = z.union(
  [
    z.array(z.string()).min(1, { error: physicalDisksRule }),
    z.array(z.record(z.string(), z.unknown())).min(2, { error: physicalDisksRule }),
  ],
  { error: physicalDisksRule },
);

const LogicalDisk = z.strictObject({
  /** GiB, or all that is left. */
  size_gb: z.union([z.int().nonnegative(), z.literal('MAX')], { error: 'must be a whole number of GiB, or "MAX"' }),
  raid_level: z.enum(raidLevels, { error: `must be one of ${raidLevels.join(', ')}` }),
  volume_name: z.string().min(1).optional(),
  is_root_volume: z.boolean().optional(),
  share_physical_disks: z.boolean().optional(),
  disk_type: z.enum(['hdd', 'ssd']).optional(),
  interface_type: z.enum(['sata', 'scsi', 'sas']).optional(),
  number_of_physical_disks: z.int().positive().optional(),
  /** `software`: by the agent with md. */
  controller: z.string().optional(),
  physical_disks: PhysicalDisks.optional(),
});
export type LogicalDisk = z.infer<typeof LogicalDisk>;

export const TargetRaidConfig = z.strictObject({
  logical_disks: z.array(LogicalDisk).min(1, { error: 'must have at least one logical disk' }),
});
export type TargetRaidConfig = z.infer<typeof TargetRaidConfig>;

/**
 * Ironic's target RAID grammar (agent-protocol.md §7): its schema, and the rules for what software RAID can do.
 * @param source what is being parsed, as the operator knows it: `target_raid_config`
 * @throws AppError `invalid_argument` naming every wrong field.
 */
export function parseTargetRaidConfig(value: unknown, source = 'target_raid_config'): TargetRaidConfig {
  const parsed = TargetRaidConfig.safeParse(value);
  if (!parsed.success) {
    throw refusal(
      source,
      parsed.error.issues.map((issue) => `${fieldName(issue.path)} ${issue.message}`.trim()),
    );
  }
  const faults = [...generalFaults(parsed.data), ...softwareRaidFaults(parsed.data)];
  if (faults.length > 0) throw refusal(source, faults);
  return parsed.data;
}

function generalFaults({ logical_disks: disks }: TargetRaidConfig): readonly string[] {
  const roots = disks.flatMap((disk, index) => (disk.is_root_volume ? [`logical_disks[${index}]`] : []));
  return [
    ...(roots.length > 1 ? [`is_root_volume may be true for one logical disk, and is for ${roots.join(' and ')}`] : []),
    ...disks.flatMap((disk, index) =>
      disk.physical_disks && disk.controller === undefined
        ? [`logical_disks[${index}].physical_disks needs logical_disks[${index}].controller`]
        : [],
    ),
  ];
}

function refusal(source: string, faults: readonly string[]): AppError {
  return new AppError('invalid_argument', `${source} can't be used: ${faults.join('; ')}`);
}

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}
