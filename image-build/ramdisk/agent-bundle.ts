import { createHash } from 'node:crypto';
import { build } from 'esbuild';
import { paths } from '#image-build/paths.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** CommonJS packages in an ES module bundle call `require` for Node's own modules. */
const banner =
  "import { createRequire as batonCreateRequire } from 'node:module'; const require = batonCreateRequire(import.meta.url);";

export interface AgentBundle {
  readonly code: Uint8Array;
  readonly sha256: string;
}

/**
 * The agent with all it imports as one ES module.
 * @throws AppError `internal` when it can't be bundled, for instance for a native addon, which no single file can hold
 */
export async function bundleAgent(entry: string): Promise<AgentBundle> {
  try {
    const result = await build({
      entryPoints: [entry],
      absWorkingDir: paths.repository,
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      minify: true,
      keepNames: true,
      legalComments: 'none',
      banner: { js: banner },
      logLevel: 'silent',
    });
    const [output] = result.outputFiles;
    if (output === undefined) throw new AppError('internal', 'esbuild wrote no file');
    return { code: output.contents, sha256: createHash('sha256').update(output.contents).digest('hex') };
  } catch (cause) {
    throw new AppError('internal', `bundle the agent from ${entry}`, { cause });
  }
}
