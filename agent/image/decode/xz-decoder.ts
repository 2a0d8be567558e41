import type { Readable, Writable } from 'node:stream';
import type { Slot, SlotPool } from '#agent/image/decode/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { start } from '#shared/process/run.ts';

/** Memory that `xz -dc` may use: archives made with `xz -9` need 65 MiB. */
const xzMemoryLimit = '100MiB';

/** Unpacks xz slots through the `xz` program into slots of `pool`: every one full but the last. */
export async function* decodeXz(
  packed: AsyncIterable<Slot>,
  pool: SlotPool,
  signal: AbortSignal,
): AsyncGenerator<Slot> {
  const xz = start('xz', ['--decompress', '--stdout', `--memlimit-decompress=${xzMemoryLimit}`], { signal });
  const complaint = collectText(xz.stderr);
  const download = { failed: false };
  const fed = feed(packed, xz.stdin);
  fed.catch(() => {
    download.failed = true;
    xz.kill('SIGKILL'); // so that the output ends too
  });
  try {
    yield* intoSlots(xz.stdout, pool);
    const exitCode = await xz.exited;
    if (download.failed) await fed;
    if (exitCode !== 0)
      throw new AppError('image_error', `unpack the xz image: ${complaint().trim() || `xz exited with ${exitCode}`}`);
    await fed;
  } finally {
    xz.kill('SIGKILL');
  }
}

/** Ends as soon as xz takes no more: its exit code says why, and the rest of the download is of no use. */
async function feed(packed: AsyncIterable<Slot>, stdin: Writable): Promise<void> {
  let gaveUp = false;
  stdin.on('error', () => {
    gaveUp = true;
  });
  for await (const slot of packed) {
    await new Promise<void>((resolve) => {
      stdin.write(slot.bytes.subarray(0, slot.length), () => resolve());
    });
    slot.release();
    if (gaveUp) return;
  }
  stdin.end();
}

async function* intoSlots(stdout: Readable, pool: SlotPool): AsyncGenerator<Slot> {
  let out = await pool.acquire();
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    let taken = 0;
    while (taken < chunk.length) {
      const count = chunk.copy(out.bytes, out.length, taken);
      taken += count;
      out.length += count;
      if (out.length === out.bytes.length) {
        yield out;
        out = await pool.acquire();
      }
    }
  }
  if (out.length > 0) yield out;
  else out.release();
}

function collectText(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-1000);
  });
  return () => text;
}
