import type { Proof } from '#test/lab/proofs/proof.ts';
import type { SeenInstance } from '#test/lab/redeploy/look-at-instance.ts';
import type { DisksLook } from '#test/lab/redeploy/watch-disks.ts';

export interface ExpectedDisks {
  readonly before: SeenInstance;
  readonly after: SeenInstance;
  readonly preserve: boolean;
}

/**
 * From outside, on the disks' files, whenever the machine was about to be powered on: the first look is that before the
 * ramdisk that wipes, the second that after it.
 */
export function proveDisks(looks: readonly DisksLook[], { before, after, preserve }: ExpectedDisks): Proof[] {
  const [untouched, wiped, ...later] = looks;
  if (!untouched || !wiped) {
    return [{ what: 'disks from outside', holds: false, seen: `the machine was powered on ${looks.length} times` }];
  }
  const { mark, file } = before.storage;
  const places = ({ disks }: DisksLook, word: string): number[] =>
    disks.flatMap(({ found }, index) => (found.includes(word) ? [index] : []));
  const list = (indices: readonly number[]): string => (indices.length === 0 ? 'none' : `disk ${indices.join(', ')}`);
  const still = [wiped, ...later];
  const markLeft = [...new Set(still.flatMap((look) => places(look, mark)))];
  const proofs: Proof[] = [
    {
      // else its absence later would prove nothing
      what: 'before the wipe the search finds mark and file',
      holds: places(untouched, mark).join() === '0' && places(untouched, file).join() === '1,2',
      seen: `mark on ${list(places(untouched, mark))}, file on ${list(places(untouched, file))}`,
    },
    {
      what: "the old system's mark is on no disk any more",
      holds: markLeft.length === 0,
      seen: `on ${list(markLeft)}; the OS disk ${wiped.disks[0]?.isZero ? 'is all zeros' : 'is not all zeros'}`,
    },
  ];
  return [...proofs, ...(preserve ? proveKept(looks, { before, after }) : proveGone(still, { before, after }))];
}

type Instances = Pick<ExpectedDisks, 'before' | 'after'>;

function proveKept(looks: readonly DisksLook[], { before, after }: Instances): Proof[] {
  const sums = [1, 2].map((disk) => [...new Set(looks.map(({ disks }) => disks[disk]?.sha256 ?? ''))]);
  return [
    {
      what: 'SHA-256 of both data disks the same at every power-on',
      holds: sums.every(({ length }) => length === 1),
      seen: `${looks.length} looks: ${sums.map((each) => each.map((sum) => sum.slice(0, 12)).join(' ≠ ')).join(', ')}`,
    },
    {
      what: 'the new system mounts them, and reads the same file',
      holds: !after.storage.made && after.storage.file_sha256 === before.storage.file_sha256,
      seen: `SHA-256 ${after.storage.file_sha256.slice(0, 12)}, ${after.storage.array}`,
    },
  ];
}

function proveGone(looks: readonly DisksLook[], { before, after }: Instances): Proof[] {
  const left = looks.flatMap(({ disks }) => disks).filter(({ found }) => found.includes(before.storage.file));
  const zeros = (looks[0]?.disks ?? []).map(({ isZero }, index) => (isZero ? `disk ${index}` : '')).filter(Boolean);
  return [
    {
      what: "the file's bytes are on no disk any more",
      holds: left.length === 0,
      seen: left.length > 0 ? `${left.length} times` : `all zeros: ${zeros.join(', ') || 'none'}`,
    },
    {
      what: 'the new system finds neither array nor file',
      holds: after.storage.made && after.storage.file !== before.storage.file,
      seen: after.storage.made ? 'it has made new ones' : 'it has found one',
    },
  ];
}
