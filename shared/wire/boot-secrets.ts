/**
 * Kernel parameters of one boot that are no one else's to read, in the ramdisk, which gets them as an initrd of their own
 * from its CD or from iPXE.
 */
export const bootSecretsFile = '/etc/baton/boot-secrets';

/** With it a lookup proves that it comes from the machine that was given the boot's token. Ironic ignores it. */
export const bootTokenHeader = 'x-baton-boot-token';
