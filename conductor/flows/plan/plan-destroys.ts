import { type PlannedStep, stepKey, stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { osDiskByHints } from '#conductor/nodes/boot/os-disk.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { isVirtualMedium } from '#shared/disks/disk.ts';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import {
  type ProtectedBy,
  protectedDevices,
  protectedNames,
  warnOfUnmetEntries,
  withMembers,
  withoutProtected,
} from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  chooseRaidDisks,
  isRaidCandidate,
  isSoftwareRaid,
  parseTargetRaidConfig,
  type TargetRaidConfig,
} from '#shared/raid/target-raid-config.ts';
import type { OsDisk } from '#shared/wire/erase-result.ts';
import { type DiskLoss, pluginTaskStep } from '#shared/wire/step.ts';

/** A disk whose contents the plan ends, as the inventory knows it. */
export interface DestroyedDisk {
  readonly disk: KnownDisk;
  /** The steps that do it: `deploy.write_image`. */
  readonly by: readonly string[];
}

export interface PlanDestroys {
  readonly disks: readonly DestroyedDisk[];
  /** Devices that each entry of the skip list protects; none where nothing is destroyed or the disks are not known. */
  readonly protection: readonly ProtectedBy[];
  /** Facts that can't be known, and the reasons. */
  readonly warnings: readonly string[];
}

/** Fields that the agent goes by when it chooses disks. */
interface NodeFields {
  readonly properties: JsonObject;
  readonly instanceInfo: JsonObject;
  readonly targetRaidConfig: JsonObject;
  /** Where the operating system was written to, as far as that can be relied on (`trustedOsDisk`). */
  readonly osDisk?: OsDisk | null;
}

/** The machine at one point of the plan. */
interface Situation {
  readonly disks: readonly KnownDisk[];
  /** The volume that an earlier step makes, and onto which the image is written: `the RAID volume "root" that …`. */
  readonly rootVolume?: string;
}

interface Reach {
  /** Names of the disks and volumes whose contents are lost. */
  readonly hit: ReadonlySet<string>;
  readonly after: Situation;
  readonly warning?: string;
}

type Destroyer = (step: PlannedStep, before: Situation, node: NodeFields) => Reach;

/** Rules by the extent that a step declares to destroy. */
const destroyers: Readonly<Record<DiskLoss, Destroyer>> = {
  none: (_step, before) => ({ hit: new Set(), after: before }),
  'root disk': writeImage,
  all: eraseAll,
};

/** Steps that may spare disks, by their arguments or the machine's state: ours, and those of Ironic's RAID interface. */
const sparing: Readonly<Record<string, Destroyer>> = {
  'deploy.wipe_disks': wipeDisks,
  'raid.apply_configuration': (step, before, node) =>
    makeRaid(step, before, node, {
      config: parseTargetRaidConfig(step.args['raid_config'], 'raid_config'),
      deleteExisting: step.args['delete_existing'] !== false,
    }),
  'raid.create_configuration': (step, before, node) =>
    makeRaid(step, before, node, {
      config: parseTargetRaidConfig(node.targetRaidConfig),
      deleteExisting: false,
    }),
  'raid.delete_configuration': deleteRaid,
};

/** Ironic's names: ironic-python-agent does not say what its steps cost. */
const ironicSteps: Readonly<Record<string, DiskLoss>> = {
  'deploy.write_image': 'root disk',
  'deploy.erase_devices': 'all',
  'deploy.erase_devices_express': 'all',
  'deploy.erase_devices_metadata': 'all',
  'deploy.burnin_disk': 'all',
  'deploy.inject_files': 'none',
  'deploy.clean_uefi_nvram': 'none',
  'deploy.erase_pstore': 'none',
  'deploy.burnin_cpu': 'none',
  'deploy.burnin_gpu': 'none',
  'deploy.burnin_memory': 'none',
  'deploy.burnin_network': 'none',
  'bios.apply_configuration': 'none',
  'bios.factory_reset': 'none',
};

/** Finds the disks that a step destroys; `undefined` = not known. */
function destroyerOf(step: PlannedStep): Destroyer | undefined {
  const key = stepKey(step);
  if (Object.hasOwn(sparing, key)) return sparing[key];
  const loss = step.destroys ?? (Object.hasOwn(ironicSteps, key) ? ironicSteps[key] : undefined);
  return loss === undefined ? undefined : destroyers[loss];
}

/**
 * Returns which disks lose their contents, by the rules by which the agent chooses them (pure). Where these can't be
 * followed (no disk fits, hints that are wrong), the agent fails too: then there is a warning with the reason.
 */
export function planDestroys(
  steps: readonly PlannedStep[],
  machine: {
    readonly disks: readonly KnownDisk[] | undefined;
    /** `null`: not known. */
    readonly undrivenStorage?: readonly string[] | null | undefined;
    readonly node: NodeFields;
  },
): PlanDestroys {
  const unknown = warnOfUnknown(steps);
  if (machine.disks === undefined) return { disks: [], protection: [], warnings: unknown };
  let situation: Situation = { disks: machine.disks };
  const by = new Map<string, Set<string>>();
  const warnings = new Set<string>(unknown);
  for (const step of steps) {
    const destroyer = step.inBand ? destroyerOf(step) : undefined;
    if (destroyer === undefined) continue;
    try {
      const { hit, after, warning } = destroyer(step, situation, machine.node);
      for (const name of hit) by.set(name, (by.get(name) ?? new Set()).add(stepTitle(step)));
      if (warning !== undefined) warnings.add(warning);
      situation = after;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      warnings.add(`Which disks ${stepTitle(step)} overwrites is not known: ${error.message}.`);
    }
  }
  const destroyed = machine.disks.flatMap((disk) => {
    const found = by.get(disk.name);
    return found ? [{ disk, by: [...found] }] : [];
  });
  if (!steps.some((step) => step.inBand && mayDestroy(step))) {
    return { disks: destroyed, protection: [], warnings: [...warnings] };
  }
  const { protection, unknown: notKnown } = readProtection(machine.disks, machine.node);
  if (notKnown !== undefined && ![...warnings].some((each) => each.includes(notKnown))) {
    warnings.add(`Which disks the skip list protects is not known: ${notKnown}.`);
  }
  const unseen = [...warnOfUnmetEntries(protection), ...undrivenOf(machine.undrivenStorage)];
  return {
    disks: destroyed,
    protection,
    warnings: [...warnings, ...unseen.map((warning) => `${warning} (as last inventoried).`)],
  };
}

function undrivenOf(found: readonly string[] | null | undefined): readonly string[] {
  if (found === undefined) return [];
  if (found !== null) return found;
  return [
    'Whether a storage controller has no driver in the ramdisk, so that disks behind it are not seen, is not known',
  ];
}

function mayDestroy(step: PlannedStep): boolean {
  const destroyer = destroyerOf(step);
  return destroyer !== undefined && destroyer !== destroyers.none;
}

/** @returns `unknown`: why the list can't be understood; steps that go by it may have said so already */
function readProtection(
  disks: readonly KnownDisk[],
  { properties }: NodeFields,
): { readonly protection: readonly ProtectedBy[]; readonly unknown?: string } {
  try {
    return { protection: protectedDevices(properties, disks) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { protection: [], unknown: error.message };
  }
}

/** Warns of steps that do not say what they destroy (plugins' scripts, a ramdisk's own), and so may destroy anything. */
function warnOfUnknown(steps: readonly PlannedStep[]): string[] {
  const inBand = steps.filter((step) => step.inBand);
  const scripts = inBand.filter((step) => stepKey(step) === stepKey(pluginTaskStep));
  const plugins = new Set(scripts.flatMap(({ plugin }) => plugin?.plugin ?? []));
  const unknown = new Set(
    inBand.filter((step) => !scripts.includes(step) && destroyerOf(step) === undefined).map(stepKey),
  );
  const byBmc = new Set(steps.filter((step) => !step.inBand && step.interface === 'raid').map(stepKey));
  return [
    ...[...byBmc].map((key) => `Which drives ${key} overwrites is not known: it is done by the storage controllers.`),
    ...[...unknown].map((key) => `What ${key} does to the disks is not known: it is a step of this ramdisk's own.`),
    ...(plugins.size > 0
      ? [`What the scripts of plugins do to the disks is not known: ${[...plugins].join(', ')}.`]
      : []),
  ];
}

function writeImage(step: PlannedStep, before: Situation, node: NodeFields): Reach {
  const { disks, rootVolume } = before;
  // the volume becomes the node's root device, which counts where the instance has no hints of its own
  if (rootVolume !== undefined && !hasHints(node.instanceInfo)) {
    return { hit: new Set(), after: before, warning: `${stepKey(step)} writes to ${rootVolume}.` };
  }
  const fields = { properties: node.properties, instance_info: node.instanceInfo };
  const root = chooseRootDevice(disks, fields);
  const unknown = disks.filter(({ contents }) => contents === null).map(({ name }) => name);
  return {
    hit: new Set(withMembers(root.name, disks)),
    after: before,
    ...(unknown.length === 0
      ? {}
      : {
          warning: `What uses ${unknown.join(', ')} is not known: ${root.name} is treated as the root disk, as if unused.`,
        }),
  };
}

function hasHints(instanceInfo: JsonObject): boolean {
  const hints = instanceInfo['root_device'];
  return typeof hints === 'object' ? hints !== null && Object.keys(hints).length > 0 : hints !== undefined;
}

/** Destroys all disks but those on the skip list and the BMC's media, removable ones too; volumes go with their members. */
function eraseAll(_step: PlannedStep, before: Situation, node: NodeFields): Reach {
  const kept = protectedNames(node.properties, before.disks);
  return destroy(
    before,
    before.disks.filter((disk) => disk.type === 'disk' && !isVirtualMedium(disk) && !kept.has(disk.name)),
  );
}

/** Destroys all disks but the skip list, or only those of the operating system. */
function wipeDisks(step: PlannedStep, before: Situation, node: NodeFields): Reach {
  if (step.args['preserve_local_storage'] !== true) return eraseAll(step, before, node);
  const osDisk = node.osDisk ?? osDiskByHints(before.disks, node.properties);
  return destroy(before, findOsDisks(before.disks, osDisk));
}

function deleteRaid(_step: PlannedStep, before: Situation, node: NodeFields): Reach {
  return destroy(before, raidDisks(before, node).filter(mayHoldRaid));
}

function makeRaid(
  step: PlannedStep,
  before: Situation,
  node: NodeFields,
  { config, deleteExisting }: { readonly config: TargetRaidConfig; readonly deleteExisting: boolean },
): Reach {
  if (!isSoftwareRaid(config)) return { hit: new Set(), after: before };
  const candidates = raidDisks(before, node);
  const chosen = new Set(config.logical_disks.flatMap((volume, index) => chooseRaidDisks(volume, index, candidates)));
  const { hit, after } = destroy(
    before,
    candidates.filter((disk) => chosen.has(disk) || (deleteExisting && mayHoldRaid(disk))),
  );
  const root = config.logical_disks.find((volume) => volume.is_root_volume) ?? config.logical_disks[0];
  const name = root?.volume_name === undefined ? '' : ` "${root.volume_name}"`;
  const rootVolume = `the RAID volume${name} that ${stepKey(step)} makes`;
  const names = new Set([...chosen].map((disk) => disk.name));
  return {
    hit,
    after: {
      disks: after.disks.map((disk) => (names.has(disk.name) ? { ...disk, holders: [rootVolume] } : disk)),
      rootVolume,
    },
  };
}

function raidDisks({ disks }: Situation, node: NodeFields): readonly KnownDisk[] {
  return withoutProtected(node.properties, disks).filter(isRaidCandidate);
}

function mayHoldRaid({ contents, holders }: KnownDisk): boolean {
  const isMember = contents?.some(({ type }) => type === 'linux_raid_member') ?? true;
  return isMember || holders.some((name) => name.startsWith('/dev/md'));
}

/** Marks the contents of these disks as lost, and with them the volumes made of them. */
function destroy(before: Situation, disks: readonly KnownDisk[]): Reach {
  const hit = new Set(disks.map(({ name }) => name));
  const above = before.disks.filter(({ type }) => type !== 'disk');
  // a set that grows while it is walked: volumes stand on volumes
  for (const name of hit) {
    const { holders = [] } = before.disks.find((disk) => disk.name === name) ?? {};
    for (const volume of above) if (holders.includes(volume.name)) hit.add(volume.name);
  }
  const gone = new Set(above.map(({ name }) => name).filter((name) => hit.has(name)));
  if (before.rootVolume !== undefined) gone.add(before.rootVolume);
  const left = before.disks
    .filter(({ name }) => !gone.has(name))
    .map((disk) => ({ ...disk, holders: disk.holders.filter((name) => !gone.has(name)) }));
  return { hit, after: { disks: left } };
}
