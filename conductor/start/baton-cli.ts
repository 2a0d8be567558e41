import { runBaton } from '#conductor/cli/run-baton.ts';
import { describeSettings } from '#conductor/start/environment.ts';

/** `baton` for hosts without a conductor, of which `npm run package` makes one file. */
runBaton({ describeSettings: () => Promise.resolve(describeSettings()) });
