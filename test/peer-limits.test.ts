import { join } from 'node:path';
import { expect, test } from 'vitest';
import { peerLimits } from '#shared/peers/peer-limits.ts';
import { isProduct, readSources } from './house/read-sources.ts';

/** Answers of others come in by `shared/peers` alone: the table of limits is held against every call site. */

const product = (await readSources(join(import.meta.dirname, '..'))).filter(isProduct);
const programs = product.filter(({ path }) => /^(agent|conductor|shared)\//.test(path));
/** The CLI and the board read the conductor of the operator who calls it. */
const others = programs.filter(({ path }) => !/^(shared\/peers|conductor\/(cli|board))\//.test(path));
const pathsOf = (found: typeof programs): string[] => found.map(({ path }) => path).sort();

test('nobody else sends requests or reads bodies', () => {
  const calls = /(?<![\w.])fetch\(|globalThis\.fetch|\.body\.(text|json|bytes)\(/;
  // hono's handler of requests has that name
  const serves = 'conductor/http/listen.ts';
  const named = (text: string) =>
    [...text.matchAll(/^import (?!type\b)\{([^}]*)\} from 'undici'/gm)].flatMap(([, names = '']) =>
      names.split(',').map((name) => name.trim()),
    );
  expect(
    others
      .flatMap(({ path, text }) => named(text).map((name) => `${path}: ${name}`))
      .filter((name) => !/: (type .*|Agent|buildConnector|)$/.test(name)),
  ).toEqual([]);
  expect(pathsOf(others.filter(({ path, text }) => path !== serves && calls.test(text)))).toEqual([]);
  expect(
    pathsOf(
      others.filter(
        ({ imports, text }) =>
          imports.some((name) => /^node:https?$/.test(name)) &&
          /\b(request|get)\b[^}]*\} from 'node:https?'/.test(text),
      ),
    ),
  ).toEqual([]);
});

test('sockets are read in files that have limits of their own', () => {
  const opens = (text: string) => /import \{[^}]*\bconnect\b[^}]*\} from 'node:(net|tls)'/.test(text);
  expect(pathsOf(programs.filter(({ text }) => opens(text)))).toEqual([
    'agent/burnin/burn-in-network.ts', // counts bytes and forgets them
    'agent/image/fetch/connection.ts',
    'conductor/cluster/etcd/etcd-tls.ts', // handshakes only
    'conductor/networks/switches/ovsdb-client.ts', // peerLimits.switch
    'shared/peers/open-connection.ts', // connects only
  ]);
});

test('bodies of requests are read behind their limits, in few places', () => {
  const reads =
    /\breq\.(json|text|arrayBuffer|blob|bytes|formData|parseBody)\(|\breq\.raw\.(body|clone|json|text|arrayBuffer)\b/;
  expect(pathsOf(programs.filter(({ path, text }) => !path.includes('/testing/') && reads.test(text)))).toEqual([
    'agent/http/app.ts', // has its own limit
    'conductor/http/admit-callers.ts', // within `readCallersBodies`, which it calls
    'conductor/http/doors/body-parts.ts',
    'conductor/http/doors/read-body.ts',
    'conductor/http/doors/request-middleware.ts',
  ]);
});

test('every kind is used', () => {
  const texts = programs
    .filter(({ path }) => path !== 'shared/peers/peer-limits.ts')
    .map(({ text }) => text)
    .join('\n');
  expect(Object.keys(peerLimits).length).toBeGreaterThan(5);
  expect(
    Object.keys(peerLimits).filter((kind) => !new RegExp(`'${kind}'|peerLimits\\.${kind}\\b`).test(texts)),
  ).toEqual([]);
});
