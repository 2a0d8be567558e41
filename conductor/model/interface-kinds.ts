/** Kinds of interfaces of a node, as Ironic names them. */
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
