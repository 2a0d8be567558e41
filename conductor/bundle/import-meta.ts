import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import type { Plugin } from 'esbuild';

/**
 * Pattern of what a source starts or serves: `new URL('x.ts', import.meta.url)` lies beside the bundle as a bundle of
 * its own.
 */
const programUrl = /new URL\('(?:[a-z./-]+\/)?([a-z-]+)\.ts', import\.meta\.url\)/g;

/**
 * Beginning of the bundle, before all else: `import.meta` of a source, whose files (migrations, manifests) stay where
 * they are.
 */
export const importMetaBanner = `
const urlOf = (path) => require('node:url').pathToFileURL(path).href;
const importMetaOf = (source) => {
  const { join, dirname } = require('node:path');
  const filename = join(__dirname, '../..', source);
  const resolve = (name) => urlOf(require('node:module').createRequire(filename).resolve(name));
  return { filename, dirname: dirname(filename), url: urlOf(filename), resolve };
};
const bundleUrl = urlOf(__filename);`;

/** Gives each source an `import.meta` of its place in the clone: CommonJS has none, and one bundle stands for many files. */
export function importMetaPlugin(repository: string): Plugin {
  return {
    name: 'import-meta',
    setup: (build) => {
      build.onLoad({ filter: /\/(conductor|shared|agent|test)\/.*\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        if (!text.includes('import.meta')) return undefined;
        const contents = text
          .replace(programUrl, "new URL('$1.cjs', bundleUrl)")
          .replaceAll('import.meta', `importMetaOf(${JSON.stringify(relative(repository, path))})`);
        return { contents, loader: 'ts' };
      });
    },
  };
}
