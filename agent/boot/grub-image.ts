/**
 * Parts of an EFI program of GRUB that decide which configuration it reads (GRUB's include/grub/kernel.h: `struct
 * grub_module_info64`, `struct grub_module_header`).
 */
export interface GrubImage {
  /** A script that is run before any configuration; `undefined` = none. */
  readonly config: string | undefined;
  readonly prefix: string;
  /** A file system in memory. */
  readonly memdisk: Buffer | undefined;
}

const magic = Buffer.from('mimg');
const infoBytes = 24;
const headerBytes = 8;
const kinds = { memdisk: 1, config: 2, prefix: 3 } as const;

/** Reads the parts of a GRUB for 64-bit firmware; `undefined`: they are not surely understood. Pure. */
export function readGrubImage(program: Buffer): GrubImage | undefined {
  const found: (ReadonlyMap<number, readonly Buffer[]> | undefined)[] = [];
  for (let at = program.indexOf(magic); at >= 0; at = program.indexOf(magic, at + 1)) {
    if (isInfo(program, at)) found.push(readModules(program, at));
  }
  const [modules] = found;
  if (!modules || found.length !== 1) return undefined;
  const [config = [], prefix = [], memdisk = []] = [kinds.config, kinds.prefix, kinds.memdisk].map((kind) =>
    modules.get(kind),
  );
  if (prefix.length !== 1 || config.length > 1 || memdisk.length > 1) return undefined;
  return { config: config[0] && textOf(config[0]), prefix: textOf(prefix[0]), memdisk: memdisk[0] };
}

/** GRUB's own code has the magic number, too, with no list behind it. */
function isInfo(program: Buffer, at: number): boolean {
  if (at + infoBytes > program.length) return false;
  const size = program.readBigUInt64LE(at + 16);
  return (
    program.readUInt32LE(at + 4) === 0 &&
    program.readBigUInt64LE(at + 8) === BigInt(infoBytes) &&
    size >= BigInt(infoBytes) &&
    size <= BigInt(program.length - at)
  );
}

function readModules(program: Buffer, start: number): ReadonlyMap<number, readonly Buffer[]> | undefined {
  const end = start + Number(program.readBigUInt64LE(start + 16));
  const modules = new Map<number, Buffer[]>();
  let at = start + infoBytes;
  while (at < end) {
    if (at + headerBytes > end) return undefined;
    const kind = program.readUInt32LE(at);
    const size = program.readUInt32LE(at + 4);
    if (size < headerBytes || at + size > end) return undefined;
    modules.set(kind, [...(modules.get(kind) ?? []), program.subarray(at + headerBytes, at + size)]);
    at += size;
  }
  return modules;
}

/** Ends at the first NUL, as GRUB's. */
function textOf(content: Buffer | undefined): string {
  return content?.toString('utf8').split('\0')[0] ?? '';
}
