import { AppError } from '#shared/errors/app-error.ts';
import type { Descriptor, Index } from '#shared/oci/documents.ts';
import { unusableImage } from '#shared/oci/unusable-image.ts';
import { nameSome } from '#shared/words.ts';

/** Formats of disk images that can be written. */
export type DiskFormat = 'raw' | 'qcow2';

interface DiskType {
  /** Place in the order of choice; the lowest is taken. */
  readonly rank: number;
  readonly format: DiskFormat;
}

/** Annotation `disktype` of manifests in an index, as podman-machine's and Ironic's images have it; raw before qcow2. */
const diskTypes: Readonly<Record<string, DiskType>> = {
  raw: { rank: 1, format: 'raw' },
  applehv: { rank: 2, format: 'raw' },
  qcow2: { rank: 3, format: 'qcow2' },
  qemu: { rank: 4, format: 'qcow2' },
};
const unnamedRank = 100;

/** Architectures as an index names them, by Linux's names. */
const architectures: readonly (readonly string[])[] = [
  ['amd64', 'x86_64', 'x86-64'],
  ['arm64', 'aarch64'],
  ['386', 'i386', 'i486', 'i586', 'i686', 'x86'],
  ['arm', 'armv7l', 'armv6l', 'armhf'],
];

/** Architecture of the machine that an image is for. */
export interface WantedArchitecture {
  /** `undefined` = not known. */
  readonly cpuArch: string | undefined;
  /** Field that has it, for messages. */
  readonly archField: string;
}

/** Returns whether an index's and a node's word mean the same architecture. */
function isSameArchitecture(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a === b || architectures.some((names) => names.includes(a) && names.includes(b));
}

/** Returns the format that an annotation `disktype` promises. */
export function formatOfDiskType(annotations: Descriptor['annotations']): DiskFormat | undefined {
  return diskTypeIn(annotations)?.format;
}

function diskTypeIn(annotations: Descriptor['annotations']): DiskType | undefined {
  const name = annotations?.['disktype']?.toLowerCase() ?? '';
  return Object.hasOwn(diskTypes, name) ? diskTypes[name] : undefined;
}

/**
 * Selects the manifests of an index that may be the image for a machine: of its architecture, and of the disk type that is
 * written best. More than one remains where nothing in the index prefers one. Pure.
 * @param about the reference, for messages
 * @throws AppError `image_error` where none fits, `invalid_argument` where the architecture would decide and is not known.
 */
export function selectManifests(
  index: Index,
  { cpuArch, archField }: WantedArchitecture,
  about: string,
): readonly Descriptor[] {
  // provenance and the like, beside the image that it is about
  const entries = index.manifests.filter(({ annotations }) => annotations?.['vnd.docker.reference.type'] === undefined);
  if (entries.length === 0) throw unusableImage(`${about}: its index is empty`);
  const fitting = entries.filter(
    (entry) =>
      cpuArch === undefined ||
      architectureOf(entry) === undefined ||
      isSameArchitecture(cpuArch, architectureOf(entry) ?? ''),
  );
  const offered = [...new Set(entries.map(architectureOf).filter((each) => each !== undefined))].sort();
  if (fitting.length === 0) {
    throw unusableImage(`${about} has images for ${offered.join(', ')}, and ${archField} is ${cpuArch}`);
  }
  const named = fitting.filter((entry) => cpuArch === undefined || architectureOf(entry) !== undefined);
  const ranked = (named.length > 0 ? named : fitting).map((entry) => ({ entry, rank: rankOf(entry) }));
  const best = Math.min(...ranked.map(({ rank }) => rank));
  const chosen = ranked.filter(({ rank }) => rank === best).map(({ entry }) => entry);
  if (best === Number.POSITIVE_INFINITY) {
    const types = ranked.map(({ entry }) => entry.annotations?.['disktype'] ?? '');
    throw unusableImage(
      `${about} has disks of type ${nameSome([...new Set(types)].sort(), 5)} alone: raw and qcow2 can be written`,
    );
  }
  const single = [...new Map(chosen.map((entry) => [entry.digest, entry])).values()];
  if (cpuArch === undefined && new Set(single.map(architectureOf)).size > 1) {
    throw new AppError(
      'invalid_argument',
      `${about} has images for ${nameSome(offered, 20)}: ${archField} decides, and is not set`,
    );
  }
  return single;
}

function architectureOf({ platform }: Descriptor): string | undefined {
  const architecture = platform?.architecture?.toLowerCase();
  return architecture === '' || architecture === 'unknown' ? undefined : architecture;
}

/** Returns the place of an entry in the order of choice; infinite for a type that can't be written. */
function rankOf({ annotations }: Descriptor): number {
  if (annotations?.['disktype'] === undefined) return unnamedRank;
  return diskTypeIn(annotations)?.rank ?? Number.POSITIVE_INFINITY;
}
