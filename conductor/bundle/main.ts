import { buildBundles } from '#conductor/bundle/build-bundles.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** `npm run build`, and what `launch.sh` starts when a source is newer than the bundles. */
buildBundles().catch((error: unknown) => {
  process.stderr.write(`baton: ${errorChain(error)}\n`);
  process.exitCode = 1;
});
