import { open } from 'node:fs/promises';
import type { AgentContext } from '#agent/context.ts';
import { resolveChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { authorizationHeaders } from '#agent/image/image-info.ts';
import { writeImage } from '#agent/image/write-image.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';
import { describeOrigin } from '#shared/wire/progress.ts';

const diskBytes = 64 * 1024 * 1024;

/**
 * Writes a step's image as the agent does, shared with its neighbours, to a file in the disk's place. No pause comes
 * before another try.
 * @returns where its bytes came from, as the step's output says it
 */
export async function writeToFile(file: string, context: AgentContext, imageInfo: unknown): Promise<string> {
  const info = ImageInfo.parse(imageInfo);
  const handle = await open(file, 'w+');
  try {
    await handle.truncate(diskBytes);
    const target = { name: file, sizeBytes: diskBytes, logicalSectorBytes: 512 };
    const { clock, log, signal, reportProgress, shareImage } = context;
    const written = await writeImage(
      target,
      () => Promise.resolve({ ...target, handle, close: () => handle.close(), sectorBytes: 512, rotational: false }),
      {
        clock,
        log,
        signal,
        reportProgress,
        urls: info.urls,
        headers: authorizationHeaders(info),
        declaredFormat: info.disk_format,
        checksum: await resolveChecksum(info, () => Promise.reject(new Error('there is no checksum file'))),
        share: shareImage,
        maxTries: 1000,
        retryDelayMs: 100,
      },
    );
    return written.origin ? ` ${describeOrigin(written.origin)}` : '';
  } finally {
    await handle.close();
  }
}
