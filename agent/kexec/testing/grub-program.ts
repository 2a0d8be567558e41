/** An EFI program as `grub-mkimage` makes it, of the parts that say which configuration is read. */
export function grubProgram(parts: {
  readonly prefix: string;
  readonly config?: string;
  readonly memdisk?: string;
  /** How many more prefixes it has. */
  readonly more?: number;
}): Buffer {
  const modules = [
    module(0, 'code'),
    ...(parts.memdisk === undefined ? [] : [module(1, parts.memdisk)]),
    ...(parts.config === undefined ? [] : [module(2, `${parts.config}\0`)]),
    ...Array.from({ length: 1 + (parts.more ?? 0) }, () => module(3, `${parts.prefix}\0\0`)),
  ];
  const info = Buffer.alloc(24);
  info.write('mimg');
  info.writeBigUInt64LE(24n, 8);
  info.writeBigUInt64LE(BigInt(24 + Buffer.concat(modules).length), 16);
  return Buffer.concat([Buffer.from('MZ Welcome to GRUB! cmp mimg, and code behind it '), info, ...modules]);
}

function module(kind: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(kind);
  header.writeUInt32LE(8 + Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}
