import { access } from 'node:fs/promises';

/** Reads how the firmware started this ramdisk; `sysRoot` differs only in tests. */
export async function readBootMode(sysRoot = '/sys'): Promise<'uefi' | 'bios'> {
  try {
    await access(`${sysRoot}/firmware/efi`);
    return 'uefi';
  } catch {
    // the kernel makes this folder when, and only when, EFI runtime services started it
    return 'bios';
  }
}
