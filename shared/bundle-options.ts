import type { BuildOptions } from 'esbuild';

/**
 * Options that all bundles have in common: one CommonJS file with all that a program imports, for the Node that ships
 * with it.
 */
export const bundleOptions = {
  bundle: true,
  write: false,
  format: 'cjs',
  platform: 'node',
  target: 'node24',
  legalComments: 'none', // the ramdisk has the texts in licenses.txt, the conductor in node_modules
  metafile: true,
  logLevel: 'silent',
} as const satisfies BuildOptions;
