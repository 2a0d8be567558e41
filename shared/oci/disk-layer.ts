import { AppError } from '#shared/errors/app-error.ts';
import type { Descriptor, Manifest } from '#shared/oci/documents.ts';
import { type DiskFormat, formatOfDiskType } from '#shared/oci/select-manifest.ts';
import { unusableImage } from '#shared/oci/unusable-image.ts';
import { nameSome } from '#shared/words.ts';

/** The one file of a manifest that goes to the disk. */
export interface DiskLayer {
  /** `sha256:…`, `sha512:…` of the file. */
  readonly digest: string;
  /** Bytes of the file as it stands in the registry. */
  readonly size: number;
  /** File name, where it has one. */
  readonly title: string | undefined;
  /** Format by its name or annotations; `undefined` = the file's first bytes decide. */
  readonly format: DiskFormat | undefined;
}

type Kind = 'disk' | 'maybe' | 'other' | 'container';

const titleKey = 'org.opencontainers.image.title';
const packed = /\.(?:zst|zstd|gz|xz)$/i;
const diskEnding = /\.(?:raw|img|qcow2|dd)$/i;
/** Endings of files that are no raw or qcow2 disk, or are made for another purpose. */
const otherEnding =
  /\.(?:sha\d+|sha\d+sums?|md5|sum|sig|asc|pem|crt|json|ya?ml|toml|txt|md|log|spdx|tar|tgz|cpio|vmlinuz|initrd|efi|iso|vmdk|vhdx?|vdi|ova|ovf|caibx|castr|rpm|deb|ign)$/i;
const diskMedia = /qcow2|qemu-disk|raw-disk|disk-image|disk\.image|\braw\b/i;
/** Media types of any file at all, packed or not. */
const anyMedia = /^application\/(?:octet-stream|zstd|x-zstd|gzip|x-gzip|xz|x-xz|vnd\.unknown\..*)$/i;
/** Media types of a root file system's layers. ORAS gives them to any file by default, which then has a title. */
const containerMedia = /(?:oci\.image\.layer|docker\.image\.rootfs|oci\.image\.layer\.nondistributable)/i;

/**
 * Finds the disk image in a manifest: by the layers' titles, as ORAS writes them, else by their media types. Pure.
 * @param about the reference, for messages
 * @throws AppError `image_error` for a container and for a manifest without a disk, or with several; `not_supported` for a
 * disk that can't be written as it is.
 */
export function findDiskLayer(manifest: Manifest, about: string): DiskLayer {
  const kinds = manifest.layers.map((layer) => ({ layer, kind: kindOf(layer, manifest) }));
  const of = (wanted: Kind): readonly Descriptor[] =>
    kinds.filter(({ kind }) => kind === wanted).map(({ layer }) => layer);
  const candidates = of('disk').length > 0 ? of('disk') : of('maybe');
  const files = new Map(candidates.map((layer) => [layer.digest, layer]));
  const [first, ...more] = files.values();
  if (!first) throw noDisk(manifest, of('container').length, about);
  if (more.length > 0) {
    const names = candidates.map((layer) => titleOf(layer) ?? layer.digest);
    throw unusableImage(
      `${about} has several files that may be the disk (${nameSome(names, 5)}): push the one that is meant by itself, and name that`,
    );
  }
  return describe(first, manifest, about);
}

function describe(layer: Descriptor, manifest: Manifest, about: string): DiskLayer {
  const title = titleOf(layer);
  const unpacked = title?.replace(packed, '');
  const isPacked = unpacked !== title || /(?:zstd|gzip|xz)$/i.test(layer.mediaType ?? '');
  const says = formatOfDiskType(manifest.annotations) ?? formatOfDiskType(layer.annotations);
  const ending = /\.(qcow2|raw)$/i.exec(unpacked ?? '')?.[1]?.toLowerCase();
  const byMedia = /qcow2|qemu-disk/i.test(layer.mediaType ?? '') ? 'qcow2' : undefined;
  const format = ending === 'qcow2' || ending === 'raw' ? ending : (says ?? byMedia);
  if (format === 'qcow2' && isPacked) {
    throw new AppError(
      'not_supported',
      `${about}: ${title ?? 'its disk'} is qcow2 that is compressed once more: push the qcow2 file itself (qemu-img convert -c compresses inside), or raw packed with zstd, gzip or xz`,
      { situation: 'image_unusable' },
    );
  }
  return { digest: layer.digest, size: layer.size, title, format };
}

function titleOf({ annotations }: Descriptor): string | undefined {
  const title = annotations?.[titleKey];
  return title === undefined || title === '' ? undefined : title;
}

function kindOf(layer: Descriptor, manifest: Manifest): Kind {
  const title = titleOf(layer);
  const media = layer.mediaType ?? '';
  if (title !== undefined) {
    // a directory that ORAS has packed
    if (layer.annotations?.['io.deis.oras.content.unpack'] === 'true') return 'other';
    const name = title.replace(packed, '');
    if (diskEnding.test(name)) return 'disk';
    if (otherEnding.test(name)) return 'other';
    return diskMedia.test(media) ? 'disk' : 'maybe';
  }
  if (diskMedia.test(media)) return 'disk';
  if (containerMedia.test(media)) return 'container';
  if (anyMedia.test(media) || formatOfDiskType(manifest.annotations) !== undefined) return 'maybe';
  return 'other';
}

function noDisk({ layers }: Manifest, containers: number, about: string): AppError {
  if (containers > 0) {
    return unusableImage(
      `${about} is a container image (${containers} layers of a root file system) and no disk image. Push the disk's file itself ` +
        '(oras push REGISTRY/NAME:TAG disk.raw.zst); of a bootc container make a disk first, with bootc-image-builder or ' +
        '`bootc install to-disk`',
    );
  }
  const names = layers.map((layer) => titleOf(layer) ?? layer.mediaType ?? layer.digest);
  const has = names.length === 0 ? 'nothing' : nameSome(names, 5);
  return unusableImage(
    `${about} has no disk image: it has ${has}; a raw or qcow2 file is looked for, packed with zstd, gzip or xz`,
  );
}
