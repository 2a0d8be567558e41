/**
 * Features of XFS without which a kernel does not mount it: bits of `sb_features_incompat`, each with mkfs.xfs' name and the
 * first Linux that has it (`fs/xfs/libxfs/xfs_format.h`). Pure.
 */
const features: readonly { readonly name: string; readonly since: readonly [major: number, minor: number] }[] = [
  { name: 'ftype', since: [3, 13] },
  { name: 'sparse', since: [4, 2] },
  { name: 'uuid', since: [4, 3] },
  { name: 'bigtime', since: [5, 10] },
  { name: 'repair', since: [5, 11] },
  { name: 'nrext64', since: [5, 19] },
  { name: 'exchange', since: [6, 10] },
  { name: 'parent', since: [6, 10] },
  { name: 'metadir', since: [6, 13] },
  { name: 'zoned', since: [6, 15] },
  { name: 'zone gaps', since: [6, 15] },
];

/**
 * Names the features of a file system that a kernel does not know. One that no kernel had when this was written is known to
 * none.
 * @param superblock the first 220 bytes, or more
 * @param kernel release of the kernel that is to mount it, as `uname -r` prints it: `6.1.0-40-amd64`
 */
export function unknownXfsFeatures(superblock: Buffer, kernel: string): readonly string[] {
  const isVersion5 = superblock.length >= 220 && (superblock.readUInt16BE(100) & 0xf) === 5;
  const bits = isVersion5 ? superblock.readUInt32BE(216) : 0;
  const used = [...Array(32).keys()].filter((bit) => ((bits >>> bit) & 1) === 1);
  return used.flatMap((bit) => {
    const feature = features[bit];
    if (feature === undefined) return [`number ${bit}`];
    return isAtLeast(kernel, feature.since) ? [] : [feature.name];
  });
}

function isAtLeast(kernel: string, [major, minor]: readonly [number, number]): boolean {
  const [, ownMajor, ownMinor] = /^(\d+)\.(\d+)/.exec(kernel) ?? [];
  return Number(ownMajor) > major || (Number(ownMajor) === major && Number(ownMinor) >= minor);
}
