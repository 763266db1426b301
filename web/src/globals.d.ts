declare module "*.css";

/** True in the bundle of reports in one file. */
declare const REPORT: boolean;
