/** Kinds of interface that a node has, in Ironic's words. */
export const interfaceKinds = [
  'bios',
  'boot',
  'console',
  'deploy',
  'firmware',
  'inspect',
  'management',
  'network',
  'power',
  'raid',
  'rescue',
  'storage',
  'vendor',
] as const;
export type InterfaceKind = (typeof interfaceKinds)[number];
