import { Client } from 'pg';
import { run } from '#shared/process/run.ts';
import { type Area, type Figure, round } from '#test/bench/area.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { fillFleet } from '#test/support/fill-fleet.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { batonProgram } from '#test/support/programs.ts';

const nodes = 1000;

/**
 * `baton import ironic` of 1,000 nodes, of which a fifth each is in enroll and active and the others rest, from an API of
 * Ironic's that is a Baton's: until each node is where it is to be, and once more, when all are there.
 */
export const importArea: Area = {
  name: 'import',
  measure: async ({ say }) => {
    await using opening = new AsyncDisposableStack();
    const urls: string[] = [];
    for (const name of ['ironic', 'baton']) {
      const server = await startPostgresql();
      opening.defer(() => server.close());
      const conductor = await prepareConductor({
        DATABASE_URL: server.url,
        BATON_CONDUCTOR_NAME: name,
        BATON_LOG_LEVEL: 'error',
      });
      opening.defer(() => conductor.close());
      await conductor.start();
      urls.push(conductor.url);
      if (name === 'ironic') await fill(server.url);
    }
    const [from = '', to = ''] = urls;
    const seconds = async (what: string): Promise<Figure> => {
      const startedAt = performance.now();
      const { stdout } = await run(batonProgram, ['import', 'ironic', from, '--yes'], {
        env: { BATON_URL: to },
        timeoutMs: 1_200_000,
      });
      const value = round((performance.now() - startedAt) / 1000);
      const lines = stdout.trimEnd().split('\n');
      const active = lines.filter((line) => /: \w+, active/.test(line)).length;
      if (lines.length !== nodes || active !== nodes / 5) {
        throw new Error(`${what}: ${lines.length} nodes came, ${active} of them active`);
      }
      say(`${what}: ${nodes} nodes after ${value} s`);
      return { value, unit: 's' };
    };
    return { s_1000: await seconds('import'), again_s_1000: await seconds('again') };
  },
};

async function fill(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await fillFleet(client, { from: 1, to: nodes + 1 });
  } finally {
    await client.end();
  }
}
