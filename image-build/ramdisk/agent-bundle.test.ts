import { expect, test } from 'vitest';
import { packagesOf } from '#image-build/ramdisk/agent-bundle.ts';

test('the packages that bundled files come from', () => {
  expect(
    packagesOf([
      'agent/main.ts',
      'node_modules/undici/lib/a.js',
      'node_modules/undici/lib/b.js',
      'node_modules/@hono/node-server/dist/index.mjs',
      'node_modules/pino/node_modules/sonic-boom/index.js',
    ]),
  ).toEqual(['node_modules/@hono/node-server', 'node_modules/pino/node_modules/sonic-boom', 'node_modules/undici']);
});
