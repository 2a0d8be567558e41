/** Debian packages that the machine building the images needs, besides what every Debian has; the lab installs them. */
export const imageBuildPackages = [
  'binutils', // readelf, strip
  'cpio',
  'debian-archive-keyring',
  'e2fsprogs',
  'gdisk',
  'kmod', // depmod
  'mmdebstrap',
  'mtools',
  'tar',
  'zstd',
];
