import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { run } from '#shared/process/run.ts';
import type { Outcome } from '#test/interop/upstream/run-suite.ts';

const Event = z.object({ Action: z.string(), Test: z.string().optional(), Output: z.string().optional() });
const outcomes = { pass: 'passed', fail: 'failed', skip: 'skipped' } as const;

/** gophercloud's acceptance tests of Ironic, by Debian 12's Go and another Debian's sources. */
export async function runGophercloud(given: {
  readonly tree: string;
  /** Which package of tests: how they log in. */
  readonly login: 'v1' | 'noauth' | 'httpbasic';
  readonly env: Readonly<Record<string, string>>;
}): Promise<Outcome[]> {
  const cache = await mkdtemp(join(tmpdir(), 'baton-go-'));
  const said = new Map<string, string>();
  const found: Outcome[] = [];
  try {
    const tests = `github.com/gophercloud/gophercloud/acceptance/openstack/baremetal/${given.login}`;
    await run('/usr/lib/go-1.19/bin/go', ['test', '-json', '-tags', 'acceptance', '-p', '1', '-count', '1', tests], {
      env: {
        GO111MODULE: 'off',
        GOPATH: `${given.tree}/usr/share/gocode`,
        GOCACHE: cache,
        ...given.env,
      },
      okExitCodes: [0, 1],
      timeoutMs: 20 * 60_000,
      onStdoutLine: (line) => {
        const { Action: action, Test: test, Output: output = '' } = Event.parse(JSON.parse(line));
        if (test === undefined) return;
        said.set(test, `${said.get(test) ?? ''}${output}`);
        if (action === 'pass' || action === 'fail' || action === 'skip')
          found.push({ test: `${given.login}.${test}`, outcome: outcomes[action], why: said.get(test) ?? '' });
      },
    });
  } finally {
    await rm(cache, { recursive: true });
  }
  return found;
}
