import { readFileSync } from 'node:fs';

/**
 * A variable as OVMF keeps it in its flash: the authenticated variable store of edk2 (MdeModulePkg,
 * VariableFormat.h: AUTHENTICATED_VARIABLE_HEADER, 60 bytes, then name and data).
 * @returns the data; `undefined` where no valid variable of that name is stored
 */
export function storedEfiVariable(file: string, name: string): Buffer | undefined {
  const flash = readFileSync(file);
  const wanted = Buffer.from(`${name}\0`, 'utf16le');
  const header = 60;
  for (let at = flash.indexOf(wanted); at >= 0; at = flash.indexOf(wanted, at + 1)) {
    if (at < header) continue;
    const start = at - header;
    const isHeader = flash.readUInt16LE(start) === 0x55aa;
    // VAR_ADDED: written whole, not deleted since
    const isValid = flash.readUInt8(start + 2) === 0x3f;
    const nameSize = flash.readUInt32LE(start + 36);
    const dataSize = flash.readUInt32LE(start + 40);
    if (isHeader && isValid && nameSize === wanted.length)
      return flash.subarray(at + nameSize, at + nameSize + dataSize);
  }
  return undefined;
}
