/** Debian packages that the conductor's host needs, each with what is used of it. */
export const conductorPackages: readonly string[] = [
  'ipmitool', // the ipmi driver
  'ipxe', // undionly.kpxe and snponly.efi, for firmware without iPXE
  'xorriso', // xorrisofs makes config drives
];
