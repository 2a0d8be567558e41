import { runConductor } from '#conductor/start/start-conductor.ts';

void runConductor(process.env);
