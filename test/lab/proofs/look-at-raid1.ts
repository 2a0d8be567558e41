import { run } from '#shared/process/run.ts';
import { comparePartitions } from '#test/lab/proofs/compare-disk.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { readGpt } from '#test/lab/proofs/read-gpt.ts';
import { type MdMember, readMdMembers } from '#test/lab/proofs/read-md-members.ts';

/** Findings that a look at the disks from outside must have. */
export interface ExpectedRaid1 {
  readonly rawImage: string;
  readonly diskFiles: readonly string[];
  /** The only line of `/etc/motd`. */
  readonly motd: string;
}

/**
 * RAID 1 over all disks, with the image's partitions and the message of the day on each of them.
 * @returns `undefined` as long as no disk has an array.
 */
export async function lookAtRaid1({ rawImage, diskFiles, motd }: ExpectedRaid1): Promise<Proof[] | undefined> {
  const members = diskFiles.map((file) => ({ file, arrays: readMdMembers(file) }));
  if (members.every(({ arrays }) => arrays.length === 0)) return undefined;
  const arrays = members.flatMap((disk) => disk.arrays);
  const uuids = new Set(arrays.map(({ arrayUuid }) => arrayUuid));
  const raid: Proof = {
    what: `RAID 1 over all ${diskFiles.length} disks`,
    holds:
      uuids.size === 1 &&
      members.every((disk) => disk.arrays.length === 1) &&
      arrays.every(({ level, raidDisks }) => level === 1 && raidDisks === diskFiles.length),
    seen: members
      .map((disk, index) => `disk ${index}: ${disk.arrays.map(describeMember).join(', ') || 'no member'}`)
      .join('; '),
  };
  if (!raid.holds) return [raid];
  const copies = await Promise.all(
    members.map(({ file, arrays: [member] }) => lookAtCopy(rawImage, file, member?.dataAt ?? 0)),
  );
  const faults = copies.flatMap((copy, index) => copy.faults.map((fault) => `disk ${index}: ${fault}`));
  return [
    raid,
    {
      what: 'partitions as in the image, and the config drive, on both disks',
      holds: faults.length === 0 && copies.every((copy) => copy.added.includes('config-2')),
      seen: faults.join('; ') || copies.map(({ names }) => names).join('; '),
    },
    {
      what: '/etc/motd as the custom step was told, on both disks',
      holds: copies.every((copy) => copy.motd === `${motd}\n`),
      seen: copies.map((copy) => JSON.stringify(copy.motd)).join(', '),
    },
  ];
}

function describeMember({ arrayUuid, level, raidDisks }: MdMember): string {
  return `RAID ${level} of ${raidDisks}, ${arrayUuid}`;
}

async function lookAtCopy(rawImage: string, file: string, at: number) {
  const { faults, added, partitions } = comparePartitions(readGpt(rawImage), readGpt(file, at));
  const root = partitions.find(({ name }) => name === 'root');
  const rootAt = at + (root?.firstSector ?? 0) * 512;
  const names = partitions.map(({ number, name }) => `${number} ${name}`).join(', ');
  const { stdout: motd } = await run('debugfs', ['-R', 'cat /etc/motd', `${file}?offset=${rootAt}`]);
  return { faults, added, names, motd };
}
