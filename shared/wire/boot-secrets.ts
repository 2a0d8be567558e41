/**
 * Kernel parameters of one boot that are no one else's to read, in the ramdisk, which gets them as an initrd of their own
 * from its CD or from iPXE.
 */
export const bootSecretsFile = '/etc/baton/boot-secrets';
